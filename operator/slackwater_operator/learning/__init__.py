"""What earlier runs of an app teach: how large they were, and what their tasks used."""
