"""Comparing a replay with what was recorded, and starting a new instance from recorded results."""
