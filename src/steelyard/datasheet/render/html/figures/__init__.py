"""The drawings of the page, one file each."""
