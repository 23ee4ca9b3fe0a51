"""What the code of a Worker sees, and what crosses between it and the engine."""
