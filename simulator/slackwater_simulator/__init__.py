"""YARN and Kubernetes semantics in virtual time: what Slackwater would do, before a cluster is touched."""
