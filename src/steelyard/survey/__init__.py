"""What people would say: `estimate`, `labels`, `leaderboard`, `people` and `bridge`."""
