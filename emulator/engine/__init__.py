"""Durable execution: knows neither HTTP nor SQL nor the language of a Worker."""
