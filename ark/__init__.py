"""Reference harness for LLM retrieval over knowledge graphs."""
