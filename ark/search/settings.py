"""What makes one BM25 index unlike another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import ClassVar

from ark.errors import UserError, unknown
from ark.records import Json
from ark.search.tokenizers import STOPWORDS, TOKENIZERS

METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")
DOCUMENTS = ("node", "text")
DUPLICATES = ("all", "last")
_FIRST = ("k1", "b", "method")  # the fields of the first release: always part of a key


@dataclass(frozen=True)
class BM25Settings:
    """Parameters of score and index; the defaults are those of the ARK authors' index.

    ``configs/search/stark.yaml`` has those of STaRK's baseline.
    """

    relevance: ClassVar[str] = "bm25"

    k1: float = 1.2
    b: float = 0.75
    method: str = "lucene"
    tokenizer: str = "words"
    """``words``, or ``bm25s``: only words of two characters and more."""
    stopwords: str | None = None
    """``english``: the 33 words that bm25s leaves out by default."""
    documents: str = "node"
    """``node``: name, aliases and text; ``text``: the text alone."""
    types: tuple[str, ...] | None = None
    """Only nodes of these types are documents: document frequencies and lengths are theirs, and
    no other node can be found. None: every node."""
    duplicates: str = "all"
    """``last``: of equal documents among the k best only the last is found, so lists may be shorter
    than k, as in the release of stark-qa that the STaRK paper used."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UserError(unknown("search.method", self.method, METHODS))
        if not self.k1 >= 0 or not 0 <= self.b <= 1:
            raise UserError(f"search.k1={self.k1} must be >= 0 and search.b={self.b} in 0..1")
        if self.method == "bm25+" and self.k1 == 0:  # its score of an absent word is 0 / 0
            raise UserError("search.method=bm25+ needs search.k1 above 0")
        choices = {"tokenizer": TOKENIZERS, "documents": DOCUMENTS, "duplicates": DUPLICATES}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise UserError(unknown(f"search.{name}", str(getattr(self, name)), known))
        if self.stopwords is not None and self.stopwords not in STOPWORDS:
            raise UserError(unknown("search.stopwords", str(self.stopwords), STOPWORDS))
        if self.types is not None:
            if isinstance(self.types, str) or not self.types:
                raise UserError("search.types must be a list of node types: search.types=[a,b]")
            # Sorted, so that two spellings of one index are one; configs give lists.
            object.__setattr__(self, "types", tuple(sorted(set(map(str, self.types)))))

    @property
    def key(self) -> Mapping[str, Json]:
        """Names the index. Later fields are left out at their defaults: old indexes stay valid."""
        values = asdict(self)
        if self.types is not None:
            values["types"] = list(self.types)
        defaults = {f.name: f.default for f in fields(self)}
        return {k: v for k, v in values.items() if k in _FIRST or v != defaults[k]}
