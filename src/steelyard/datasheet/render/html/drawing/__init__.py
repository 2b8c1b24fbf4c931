"""What the drawings share."""
