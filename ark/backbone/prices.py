"""What models cost: a table in the repository (``prices.csv``), each row with date and source.

A model that is not in it has no price: its money is unknown, never 0 and never a guess. Models are
named ``PROVIDER/NAME``, as litellm writes them; the same model at another provider is another row.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from ark.records import Json

TABLE = Path(__file__).with_name("prices.csv")
MILLION = 1_000_000
ORDINARY = (None, "auto", "default")
_OTHER_PRICES = ("service_tier", "speed")  # parameters of a call that change what it costs


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens.

    ``cached`` is for prompt tokens that the provider had in its cache, ``written`` for those that
    it puts there; None: as other prompt tokens. Prompts of more than ``longest_prompt`` tokens cost
    something else, which is not known here. ``date`` is when ``source`` said so (ISO 8601).
    """

    prompt: float
    completion: float
    cached: float | None = None
    written: float | None = None
    longest_prompt: int | None = None
    date: str = ""
    source: str = ""

    def cost(
        self, prompt: float, completion: float, *, cached: float = 0, written: float = 0
    ) -> float:
        """US dollars. ``cached`` and ``written`` are parts of the ``prompt`` tokens."""
        cached = min(cached, prompt)
        written = min(written, prompt - cached)
        rates = (
            (prompt - cached - written, self.prompt),
            (cached, self.prompt if self.cached is None else self.cached),
            (written, self.prompt if self.written is None else self.written),
            (completion, self.completion),
        )
        return sum(count * rate for count, rate in rates) / MILLION

    def cost_of_call(
        self, prompt: int, completion: int, *, cached: int = 0, written: int = 0
    ) -> float | None:
        """The same for one call; None where its prompt is longer than the price holds for."""
        if self.longest_prompt is not None and prompt > self.longest_prompt:
            return None
        return self.cost(prompt, completion, cached=cached, written=written)


def own_price(pair: Sequence[float]) -> Price:
    """The user's ``backbone.price=[PROMPT,COMPLETION]``."""
    return Price(float(pair[0]), float(pair[1]), source="backbone.price")


def find_price(model: str, params: Mapping[str, Json] | None = None) -> Price | None:
    """The table's row for ``PROVIDER/NAME``; None: unknown.

    Also None where ``params`` of the call choose another price (``service_tier``, ``speed``).
    """
    if any((params or {}).get(name) not in ORDINARY for name in _OTHER_PRICES):
        return None
    return price_table().get(model)


@lru_cache(maxsize=1)
def price_table(path: Path = TABLE) -> Mapping[str, Price]:
    """All rows by model. ValueError for a row that is doubled, negative, free or without date."""
    out: dict[str, Price] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            model = row["model"]
            price = Price(
                prompt=float(row["prompt"]),
                completion=float(row["completion"]),
                cached=_maybe(row["cached_prompt"]),
                written=_maybe(row["cache_write"]),
                longest_prompt=int(row["longest_prompt"]) if row["longest_prompt"] else None,
                date=row["date"],
                source=row["source"],
            )
            rates = (price.prompt, price.completion, price.cached or 0.0, price.written or 0.0)
            # Lists of others write 0 for what they do not know.
            good = price.prompt > 0 and all(math.isfinite(r) and r >= 0 for r in rates)
            if model in out or not good or not price.date or not price.source:
                raise ValueError(f"{path.name}: the row of {model} is wrong or doubled")
            out[model] = price
    return MappingProxyType(out)


def _maybe(text: str) -> float | None:
    return float(text) if text else None
