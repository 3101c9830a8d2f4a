"""A cluster's past, fetched from Prometheus in small pieces and kept on disk, so that nothing is asked twice."""
