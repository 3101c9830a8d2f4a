"""The control loop: rounds, releases, nominations, stalls."""
