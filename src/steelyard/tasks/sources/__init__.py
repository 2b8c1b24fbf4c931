"""Files of users: tables in many formats become items by a map of columns."""
