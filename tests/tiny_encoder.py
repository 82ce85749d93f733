"""An encoder without a model: each word is a fixed vector of signs, a text the sum of its words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ark.records import Json
from ark.text import tokens

DIMENSIONS = 64


class TinyEncoder:
    """Counts the texts that it is given."""

    def __init__(self, name: str = "tiny") -> None:
        self.name, self.asked = name, 0
        self.stop_after: int | None = None

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"model": self.name}

    def ready(self) -> None:
        pass

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += len(texts)
        if self.stop_after is not None and self.asked > self.stop_after:
            raise KeyboardInterrupt
        return np.stack([_sum(text) for text in texts])


def _sum(text: str) -> NDArray[np.float32]:
    out = np.zeros(DIMENSIONS, dtype=np.float32)
    for word in tokens(text):
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=DIMENSIONS).digest()
        out += np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - 127.5
    return out
