"""The buttons: which commands are possible, what they ask first, and what they do."""
