"""The HTTP server of the port: the Worker, the REST APIs and the dashboard."""
