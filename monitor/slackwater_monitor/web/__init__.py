"""The dashboard: pages made on the server, readable without JavaScript, nothing fetched from elsewhere."""
