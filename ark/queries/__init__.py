"""Questions: read from files, split, composed with a program as their gold, and checked."""

from ark.queries.cache import (
    compose_questions,
    questions_folder,
    questions_for,
    wording_for,
)
from ark.queries.check import Mismatch, check
from ark.queries.forms import questions_hash
from ark.queries.load import load_queries
from ark.queries.mention import wording_of
from ark.queries.names import WORDINGS
from ark.queries.splits import SPLITS, select

__all__ = [
    "SPLITS",
    "WORDINGS",
    "Mismatch",
    "check",
    "compose_questions",
    "load_queries",
    "questions_folder",
    "questions_for",
    "questions_hash",
    "select",
    "wording_for",
    "wording_of",
]
