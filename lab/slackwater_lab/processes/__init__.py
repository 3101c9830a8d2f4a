"""Processes of the lab: started, watched, waited for, stopped."""
