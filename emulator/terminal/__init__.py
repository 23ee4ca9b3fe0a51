"""What `stepwell dev` prints: a line per change of an instance, the user's own output, errors with their source."""
