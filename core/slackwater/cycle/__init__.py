"""One scheduling cycle over a snapshot: admit apps, order their pods, release, and give each app its verdict."""
