"""Back up and restore a whole index as one file."""
