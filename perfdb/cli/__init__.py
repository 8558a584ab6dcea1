"""The command line: one module per verb; each command is a few lines that call one function."""
