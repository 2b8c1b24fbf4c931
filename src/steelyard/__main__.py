"""`python -m steelyard`."""

from steelyard.cli.main import main

main()
