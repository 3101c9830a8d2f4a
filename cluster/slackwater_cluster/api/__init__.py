"""Talking to the API server: sessions, the plain client, credentials, retries."""
