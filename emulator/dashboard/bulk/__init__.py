"""Commands on many instances at once."""
