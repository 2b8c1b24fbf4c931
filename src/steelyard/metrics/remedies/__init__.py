"""What a judge would show with a remedy, from calls already made."""
