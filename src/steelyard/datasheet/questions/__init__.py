"""The questions that a datasheet answers: each is one object, in the file of its group."""
