"""What all HTTP handlers share: commands, errors, live updates, URLs, and the parts they are given."""
