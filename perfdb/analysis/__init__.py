"""Statistics of series: values in, values out; no connection, clock or GPU."""
