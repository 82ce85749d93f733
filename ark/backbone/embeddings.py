"""``encoder=litellm``: vectors from any provider's endpoint, or any OpenAI-compatible server.

Found by name from ``ark.search.encoder``. The key comes from the provider's usual variable, the
address of a server of your own from the one that litellm reads (``OPENAI_API_BASE``, ...). What
it was sent is counted in ``ark.search.sent``; it is in no run's usage or budget.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
)

from ark.backbone.errors_remote import Asked, Failure, failure_of, sort_failure
from ark.backbone.keys import in_environment, read_key, shown_url
from ark.backbone.library_litellm import import_quietly
from ark.errors import ArkError, FatalBackboneError, QueryFailedError, RetryableError, UserError
from ark.records import Json
from ark.search.sent import note

OPENAI, OPENAI_URL = "openai", "https://api.openai.com/v1"
BATCH = 64  # texts a request
LONGEST = 20_000  # characters of a text that are sent; what a model then leaves out is its own
TIMEOUT = 60.0
ATTEMPTS = 6
LONGEST_WAIT = 120.0  # seconds that a server may ask to wait before the next attempt
# Errors are sorted for backbones, whose settings they name; an encoder has others.
_WORDS = (
    ("the prompt is too long for it", "a text is too long for it, choose a model that reads more"),
    ("check backbone.model, and that backbone.api_base is right", "check its name and address"),
    (" (backbone.timeout)", ""),
    (" (try backbone.tool_choice=auto)", ""),
)


class LiteLLMEncoder:
    """An ``Encoder`` behind litellm; ``model`` is named ``PROVIDER/NAME``."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._proved = False
        self._dimensions = 0  # of the first vectors that came back
        self._provider = ""  # as litellm says it
        self._keys: list[str] = []

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
        litellm.DEFAULT_MAX_RETRIES = 0  # its ``embedding`` takes max_retries=0 for not set
        try:
            _, self._provider, *_ = litellm.get_llm_provider(self._model)
        except error:
            raise UserError(
                f"encoder=litellm, model={self._model} names no provider that litellm knows: write "
                "PROVIDER/NAME, such as openai/text-embedding-3-small"
            ) from None
        missing = litellm.validate_environment(self._model)["missing_keys"]
        wanted = [name for name in missing if name.endswith("_API_KEY")]
        self._keys = wanted or [f"{self._provider.upper()}_API_KEY"]
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
            wait=_wait,
            reraise=True,
        )
        try:
            found: NDArray[np.float32] = again(self._asked, texts)
        except RetryableError as error:
            if not self._proved:  # as it would be for every question
                raise FatalBackboneError(
                    f"{error} ({ATTEMPTS} attempts, and none before has succeeded: {self._fix})"
                ) from None
            raise QueryFailedError(str(error)) from None
        self._proved = True
        return found

    def _asked(self, texts: list[str]) -> NDArray[np.float32]:
        litellm, library_error, key = self._library
        # Given, as litellm would prefer OPENAI_BASE_URL to the usual variable.
        access = {"api_key": key, "api_base": self._address if self._provider == OPENAI else None}
        try:
            answer = litellm.embedding(
                model=self._model,
                input=texts,
                timeout=TIMEOUT,
                num_retries=0,
                max_retries=0,
                **{k: v for k, v in access.items() if v is not None},
            )
        except (library_error, TimeoutError) as error:
            raise self._sorted(failure_of(error)) from None
        note(self._model, len(texts), _tokens(answer))
        return _vectors(answer, len(texts), self._model)

    @property
    def _address(self) -> str | None:
        """Read for each call, as litellm does; None where it alone knows it."""
        own = os.environ.get(f"{self._provider.upper()}_API_BASE")
        if self._provider != OPENAI:
            return own
        return own or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL

    @property
    def _where(self) -> str:
        return shown_url(self._address) if self._address else f"provider {self._provider}"

    @property
    def _fix(self) -> str:
        usual = f"{self._provider.upper()}_API_BASE"
        return f"check that {self._where} is up; {usual} sets the address of a server of your own"

    def _sorted(self, failure: Failure) -> ArkError:
        """Our error, in the words of an encoder's settings."""
        if failure.lost_connection and not self._proved:
            return FatalBackboneError(f"{self._model}: no server answers: {self._fix}")
        hint = f"check the key in {' or '.join(self._keys)}"
        asked = Asked(self._model, self._where, hint, TIMEOUT, self._proved)
        error = sort_failure(failure, asked)
        text = str(error)
        for others, own in _WORDS:
            text = text.replace(others, own)
        error.args = (text,)
        return error


def _wait(state: RetryCallState) -> float:
    """Seconds: doubled each time to 30; longer where the server asks for it."""
    error = state.outcome.exception() if state.outcome is not None else None
    told = error.retry_after if isinstance(error, RetryableError) else None
    return max(wait_exponential(max=30)(state), min(told or 0.0, LONGEST_WAIT))


def _tokens(answer: Any) -> int | None:
    """Of the request, as the answer says; None where it does not."""
    try:
        said = answer["usage"]["prompt_tokens"]
    except (LookupError, TypeError, AttributeError):
        return None
    known = isinstance(said, int) and not isinstance(said, bool) and said > 0
    return said if known else None  # litellm says 0 where the server said nothing


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
