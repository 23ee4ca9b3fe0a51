"""The command line: one file per command group, parsing only; each command calls one function."""
