"""The pages about Workflows, limits and new instances."""
