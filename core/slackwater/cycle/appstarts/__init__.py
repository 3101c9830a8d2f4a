"""Which waiting apps start: their order, what can never run, the driver budget (002), pool slots (004), assembly."""
