"""What is concluded: estimates with honest intervals, from observations alone."""
