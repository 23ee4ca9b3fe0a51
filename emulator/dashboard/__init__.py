"""The dashboard: records in, view models and HTML out. Nothing here reads storage, asks the engine, knows HTTP."""
