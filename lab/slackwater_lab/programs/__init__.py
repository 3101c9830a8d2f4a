"""What the lab runs: built from source, taken from Debian, packed as images."""
