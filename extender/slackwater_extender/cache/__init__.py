"""What the extender knows of the cluster: watches, apps, policies and the ledger behind one lock."""
