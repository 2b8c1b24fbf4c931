"""What the tests behind the figures allow one to say of a judge, in sentences."""
