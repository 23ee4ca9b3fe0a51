"""The pytest plugin and the library behind it; tests import its public names from `stepwell.testing`."""
