"""Shared by all HTTP handlers: commands, errors, live updates, URLs and their dependencies."""
