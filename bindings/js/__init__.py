"""JavaScript's objects in Python, behind the modules `js` and `pyodide`."""
