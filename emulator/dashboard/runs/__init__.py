"""Runs to save, open, compare, and turn into tests."""
