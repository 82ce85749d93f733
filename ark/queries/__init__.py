"""Questions: read from files, split, composed with a program as their gold, and checked."""

from ark.queries.forms import questions_hash
from ark.queries.load import load_queries
from ark.queries.splits import select

__all__ = ["load_queries", "questions_hash", "select"]
