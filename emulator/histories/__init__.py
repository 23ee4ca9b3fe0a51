"""Recorded instances in files: exports, imports from an account, and what of them is not known."""
