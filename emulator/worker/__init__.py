"""How the code of a Worker is loaded and called: a host per language, its environment, and reloading."""
