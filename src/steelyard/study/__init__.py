"""What is to be measured."""
