"""The modules that code of a Worker imports: `workers`, `asgi`, `js`, `pyodide`. Each only re-exports.

The importer of the Python host gives them to user code under these names; nothing else imports them.
"""
