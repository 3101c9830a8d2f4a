"""The HTTP server: routes, the JSON API, its description."""
