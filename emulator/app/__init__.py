"""Builds and runs the emulator: the assembly, the `stepwell dev` session, the state folder."""
