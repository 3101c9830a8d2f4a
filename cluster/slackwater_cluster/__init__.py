"""How Slackwater sees and touches Kubernetes: sessions, the reflector, trimmed records, and recognition of apps."""
