"""Tables for people: pure functions over domain values."""
