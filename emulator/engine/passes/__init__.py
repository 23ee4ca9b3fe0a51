"""One pass of `run()`: its steps, attempts, waits, rollbacks, and how it ends."""
