"""``encoder=litellm``: vectors from any provider's endpoint, or any OpenAI-compatible server.

Found by name from ``ark.search.encoder``. The key comes from the provider's usual variable, the
address of a server of your own from the one that litellm reads (``OPENAI_API_BASE``, ...). What
embeddings cost is not in a run's usage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from ark.backbone.errors_remote import Asked, failure_of, sort_failure
from ark.backbone.keys import in_environment, read_key
from ark.backbone.library_litellm import import_quietly
from ark.errors import FatalBackboneError, QueryFailedError, RetryableError, UserError
from ark.records import Json

BATCH = 64  # texts a request
LONGEST = 20_000  # characters of a text that are sent; what a model then leaves out is its own
TIMEOUT = 60.0
ATTEMPTS = 6


class LiteLLMEncoder:
    """An ``Encoder`` behind litellm; ``model`` is named ``PROVIDER/NAME``."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._proved = False
        self._dimensions = 0  # of the first vectors that came back

    @property
    def identity(self) -> Mapping[str, Json]:
        """The model's name: what a provider changes behind it is not seen."""
        return {"client": "litellm", "model": self._model}

    def ready(self) -> None:
        """A key is looked for when the first text is sent."""

    @cached_property
    def _library(self) -> tuple[Any, type[Exception], str | None]:
        """litellm, its errors' base class, and a key that only a ``.env`` file has."""
        litellm, error = import_quietly()
        try:
            litellm.get_llm_provider(self._model)
        except error:
            raise UserError(
                f"encoder=litellm, model={self._model} names no provider that litellm knows: write "
                "PROVIDER/NAME, such as openai/text-embedding-3-small"
            ) from None
        missing = litellm.validate_environment(self._model)["missing_keys"]
        wanted = [name for name in missing if name.endswith("_API_KEY")]
        found = [name for name in wanted if read_key(name)]
        if wanted and not found:
            raise UserError(
                f"encoder=litellm, model={self._model} needs a key: set "
                f"{' or '.join(wanted)} in the environment or in .env"
            )
        key = None if not found or in_environment(found[0]) else read_key(found[0])
        return litellm, error, key

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (texts, dimensions). Raises UserError, FatalBackboneError or QueryFailedError."""
        parts = [np.empty((0, self._dimensions), dtype=np.float32)] if not texts else []
        for start in range(0, len(texts), BATCH):
            part = self._patiently([_clean(text) for text in texts[start : start + BATCH]])
            self._dimensions = self._dimensions or part.shape[1]
            if part.shape[1] != self._dimensions:
                raise FatalBackboneError(
                    f"{self._model}: vectors of {self._dimensions} and of {part.shape[1]} numbers "
                    "came back: choose a model whose vectors are all of one length"
                )
            parts.append(part)
        return np.concatenate(parts)

    def _patiently(self, texts: list[str]) -> NDArray[np.float32]:
        again = Retrying(
            retry=retry_if_exception_type(RetryableError),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(max=30),
            reraise=True,
        )
        try:
            found: NDArray[np.float32] = again(self._asked, texts)
        except RetryableError as error:
            raise QueryFailedError(str(error)) from None
        self._proved = True
        return found

    def _asked(self, texts: list[str]) -> NDArray[np.float32]:
        litellm, library_error, key = self._library
        access = {} if key is None else {"api_key": key}
        try:
            answer = litellm.embedding(
                model=self._model,
                input=texts,
                timeout=TIMEOUT,
                num_retries=0,
                max_retries=0,
                **access,
            )
        except (library_error, TimeoutError) as error:
            asked = Asked(self._model, "the endpoint", "", TIMEOUT, self._proved)
            raise sort_failure(failure_of(error), asked) from None
        return _vectors(answer, len(texts), self._model)


def _vectors(answer: Any, count: int, model: str) -> NDArray[np.float32]:
    """The vectors in the order of the texts. Raises FatalBackboneError where that is unclear."""
    try:
        rows = [[float(x) for x in row["embedding"]] for row in answer["data"]]
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError):
        raise FatalBackboneError(f"{model}: its answer holds no vectors") from None
    lengths = sorted({len(row) for row in rows})
    if len(rows) != count:
        raise FatalBackboneError(f"{model}: {len(rows)} vectors came back for {count} texts")
    if len(lengths) != 1 or lengths == [0]:
        raise FatalBackboneError(
            f"{model}: vectors of {' and of '.join(map(str, lengths))} numbers came back in one "
            "answer: choose a model for embeddings"
        )
    wide = np.array(rows)[_order(answer["data"], count, model)]
    if not (np.abs(wide) <= np.finfo(np.float32).max).all():
        raise FatalBackboneError(
            f"{model}: numbers that are not finite in single precision came back: choose another "
            "model"
        )
    found: NDArray[np.float32] = wide.astype(np.float32)
    if not found.any(axis=1).all():
        raise FatalBackboneError(
            f"{model}: a vector of zeros came back for a text with words: choose another model"
        )
    return found


def _order(rows: Any, count: int, model: str) -> list[int]:
    """For each text the place of its vector in the answer, by the numbers it gives them."""
    try:
        numbers = [int(row["index"]) for row in rows]
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError):
        numbers = []
    if sorted(numbers) != list(range(count)):
        raise FatalBackboneError(
            f"{model}: its vectors must have the numbers 0 to {count - 1} as 'index', each once, "
            "and have not: which text each is for is unknown; mend that server or choose another"
        )
    return sorted(range(count), key=numbers.__getitem__)


def _clean(text: str) -> str:
    return text[:LONGEST].encode("utf-8", "replace").decode("utf-8")
