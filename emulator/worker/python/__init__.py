"""Python Workers in CPython: loading their modules, calling their handlers, capturing their output."""
