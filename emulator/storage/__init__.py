"""What is stored, and how. Knows SQL and no policy: times, limits and decisions come in as arguments."""
