"""What stands beside admission: the webhook for older API servers, and the dead-man switch."""
