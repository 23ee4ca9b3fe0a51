"""What answers on the port: the front door to the Worker, the REST APIs, the dashboard. Thin."""
