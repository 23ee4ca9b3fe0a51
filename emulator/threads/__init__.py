"""The engine's thread as other threads see it: calls into it, and a watch on code that blocks its event loop."""
