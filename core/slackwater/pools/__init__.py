"""Small and large apps: two pools with a moving border (paper 004), phases of an app, the release forecast."""
