"""runners: how speed is measured, and where."""
