"""Reservation pools for small and large apps (paper 004): the moving border, phases of an app, the release forecast."""
