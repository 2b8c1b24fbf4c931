"""What is published: the datasheet as data, and its renderers."""
