"""Which documents of an index are equal to the last character."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np

from ark.protocols import Ints


class Equal:
    """Watches texts go by and remembers for each which later text is the last equal to it."""

    def __init__(self) -> None:
        self._last: dict[bytes, int] = {}
        self._digests: list[bytes] = []

    def watch(self, texts: Iterable[str]) -> Iterator[str]:
        """The same texts. A digest of 128 bits stands for each."""
        for text in texts:
            # surrogatepass: half a character from a broken file must not end a build.
            data = text.encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(data, digest_size=16).digest()
            self._last[digest] = len(self._digests)
            self._digests.append(digest)
            yield text

    def last(self) -> Ints:
        """int64[n]: the number of the last text that equals text i."""
        return np.array([self._last[digest] for digest in self._digests], dtype=np.int64)
