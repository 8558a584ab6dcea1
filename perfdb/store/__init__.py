"""Everything that knows SQL: schema, connections, the embedded server, ingest, history, verdicts."""
