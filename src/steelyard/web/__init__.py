"""Pages that people work in: the review bench and the viewer, on this machine unless told otherwise."""
