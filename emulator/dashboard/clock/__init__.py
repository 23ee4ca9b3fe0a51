"""The clock page."""
