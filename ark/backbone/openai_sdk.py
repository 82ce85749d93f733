"""``backbone=openai``: OpenAI and every OpenAI-compatible server, through the openai SDK.

The SDK costs about half of litellm's time a call. It is used as an HTTP client only: its typed
answers would hide what a server really sent (HTML as text, arguments as Python's ``repr``).
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, ClassVar

from ark.backbone.errors_remote import UnreadableError
from ark.backbone.keys import one_line, read_key, secrets
from ark.backbone.remote import NO_KEY, OPENAI, RemoteBackbone
from ark.errors import UserError

NAME = "openai"  # by name: its annotations would cost each run of the type checker seconds
PREFIX = "openai/"
KEY = "OPENAI_API_KEY"
SHOWN = 80  # characters of an answer that is no JSON


class OpenAIBackbone(RemoteBackbone):
    """A model behind the openai SDK, named as for litellm: ``openai/NAME``, NAME as served."""

    client: ClassVar[str] = "openai"
    _sdk: Any
    _open: tuple[asyncio.AbstractEventLoop, Any] | None = None  # the running loop's connections

    def _load(self) -> type[Exception]:
        try:
            self._sdk = importlib.import_module(NAME)
        except ModuleNotFoundError:
            raise UserError(
                "backbone=openai needs the openai package: pip install openai"
            ) from None
        error: type[Exception] = self._sdk.OpenAIError
        return error

    def _locate(self) -> tuple[str, str | None]:
        if not self._model.removeprefix(PREFIX) or not self._model.startswith(PREFIX):
            raise UserError(
                f"backbone.model={self._model}: write backbone.model=openai/{self._model}, or take "
                "backbone=litellm for another provider's own protocol"
            )
        return NAME, self._api_base or OPENAI

    def _priced_as(self) -> str:
        return self._model

    def _own_key(self) -> str | None:
        key = read_key(KEY)
        if not key:
            raise self._no_key([KEY])
        return key

    async def _post(self, body: Mapping[str, Any], key: str | None) -> Any:
        sent = {"model": self._model.removeprefix(PREFIX), **body}
        sent |= sent.pop("extra_body", None) or {}  # litellm's name for what it does not know
        if self._api_base is None and "max_tokens" in sent:
            sent["max_completion_tokens"] = sent.pop("max_tokens")  # what OpenAI's newer ones take
        answer = await self._client().post(
            "/chat/completions",
            cast_to=self._sdk.HttpxBinaryResponseContent,  # as it came
            body=sent,
            options={"headers": {"Authorization": f"Bearer {key}"}},
        )
        return _json(answer.content)

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._open is None or self._open[0] is not loop:
            client = self._sdk.AsyncOpenAI(
                base_url=self._target,  # always: else OPENAI_BASE_URL would choose
                api_key=NO_KEY,  # the real one goes with each request and is not kept
                max_retries=0,
                timeout=self._timeout,
                http_client=self._http(),
            )
            if self._api_base is not None:
                # The environment's headers are meant for OpenAI, not for strangers.
                client.organization = client.project = None
                client._custom_headers = {}
            self._open = (loop, client)
        return self._open[1]

    def _http(self) -> Any:
        """Connections through aiohttp where it is installed: half the CPU time at 64 in flight."""
        return self._sdk.DefaultAioHttpClient() if importlib.util.find_spec("aiohttp") else None

    async def _closer(self) -> AsyncGenerator[None, None]:
        client = self._client()
        try:
            yield
        finally:
            await client.close()


def _json(content: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, Mapping):
        start = one_line(content[: 4 * SHOWN].decode("utf-8", "replace"), secrets(), SHOWN)
        raise UnreadableError(f"no JSON object but {start!r}" if start else "an empty body")
    return answer
