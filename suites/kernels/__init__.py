"""Single operations."""
