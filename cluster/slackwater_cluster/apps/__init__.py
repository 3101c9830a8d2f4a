"""Which app a pod belongs to, its role and stage, and how large the app is."""
