"""The web's objects in Python Workers: requests, responses, headers, forms, URLs, streams, WebSockets."""
