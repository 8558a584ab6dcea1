"""perfdb: what is known about the speed of code, and what changed."""
