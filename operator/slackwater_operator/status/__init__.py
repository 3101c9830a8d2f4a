"""What is told: TrackedApps, status of custom resources, Events, reasons on pods, gauges."""
