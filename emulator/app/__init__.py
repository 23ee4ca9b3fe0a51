"""Puts the parts together and runs them: the assembly, the `stepwell dev` session, the state folder."""
