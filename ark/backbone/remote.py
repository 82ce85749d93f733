"""What all models behind HTTP have in common; ``litellm`` and ``openai_sdk`` add a client each.

One call of ours is one request: the clients' own retries are off, and what fails is told apart in
``errors_remote`` so that the runner can decide.
"""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, ClassVar

from ark.backbone import settings_remote as check
from ark.backbone.errors_remote import (
    Asked,
    UnreadableError,
    failure_in,
    failure_of,
    no_server,
    sort_failure,
    unusable,
)
from ark.backbone.keys import one_line, read_key, secrets, shown_url
from ark.backbone.library_litellm import listens
from ark.backbone.prices import Price, find_price, own_price
from ark.backbone.tool_modes import MODES, Native, tool_mode_of
from ark.backbone.wire import (
    choice_to_wire,
    forced_only,
    part,
    response_format,
    says_nothing,
    to_wire,
    usage_of,
)
from ark.errors import ArkError, FatalBackboneError
from ark.records import Completion, Json, Message

OPENAI = "https://api.openai.com/v1"
NO_KEY = "no-key"  # what servers without keys get; never the key of another provider


class RemoteBackbone(ABC):
    """A model behind a client. ``identity`` holds what changes answers, nothing of transport."""

    client: ClassVar[str]
    """Name of the client in the identity."""

    def __init__(
        self,
        model: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        send_seed: bool = False,
        tool_mode: str = "native",
        tool_choice: str = "required",
        params: Mapping[str, Json] | None = None,
        api_base: str | None = None,
        api_key_env: str | None = None,
        timeout: float = 120.0,
        price: Sequence[float] | None = None,
        seed: int = 0,
    ) -> None:
        """Identity first (to ``params``), then transport; None leaves the provider's default.

        Args:
            model: ``PROVIDER/NAME``; ``openai/NAME`` for OpenAI and own servers.
            temperature: of calls whose method gives none.
            top_p: nucleus sampling.
            max_tokens: of calls whose method gives none.
            send_seed: send a seed made of the run's seed and the draw; not every model takes one.
            tool_mode: ``native``: the model calls tools itself. ``schema``: tools are described in
                the prompt and one call is asked for as JSON, with its schema as
                ``response_format``. ``prompt``: the same without ``response_format``.
            tool_choice: ``required`` sends what the method asks for; ``auto`` leaves the choice to
                models that refuse to be forced.
            params: further parameters of the call, sent as they are (``reasoning_effort``, ...).
            api_base: URL of an OpenAI-compatible server, up to and with ``/v1``.
            api_key_env: name of the variable that holds the key, in the environment or in a file
                ``.env`` in the working directory. By default the provider's own, and none at all
                where ``api_base`` is set.
            timeout: seconds of wall-clock time for one call, connecting and reading included.
            price: US dollars per million prompt and completion tokens; by default the table of
                ``ark.backbone.prices``, and unknown where ``api_base`` is set.
            seed: the run's seed, given by the runner.

        Raises UserError. A missing key is reported by the first call, not here: a finished run is
        read again without one.
        """  # noqa: D413
        self._model = check.model_name(model)
        check.number("temperature", temperature, 0, 10)
        check.number("top_p", top_p, 0, 1)
        check.number("max_tokens", max_tokens, 1, 10_000_000, whole=True)
        check.number("timeout", timeout, 0.001, 86_400)
        self._sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}
        self._params = check.further(params)
        self._send_seed, self._seed = bool(send_seed), seed
        self._tool_mode = check.one_of("tool_mode", tool_mode, MODES)
        self._tool_choice = check.one_of("tool_choice", tool_choice, ("required", "auto"))
        self._mode = tool_mode_of(tool_mode)
        self._api_base = check.server_url(api_base)
        self._key_env = check.variable(api_key_env)
        self._timeout = float(timeout)
        own = check.prices(price)
        self._library_error = self._load()
        self._provider, self._target = self._locate()
        self._price = own_price(own) if own else self._listed()
        self._harmless: frozenset[str] = frozenset()  # names that the server has sent
        self._proved = False  # the model has answered with these settings
        self._cleanup: tuple[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model!r} at {self._where()})"

    @property
    def identity(self) -> Mapping[str, Json]:
        """Client, model, sampling and how tools are asked for. No URL, key, time-out or price."""
        return {
            "backbone": self.client,
            "model": self._model,
            **self._sampling,
            "seed": self._seed if self._send_seed else None,
            "params": self._params,
            "tool_choice": self._tool_choice,
            **self._mode.identity,
        }

    @property
    def label(self) -> str:
        """The model's name."""
        return self._model

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None: unknown. Not part of the identity."""
        return self._price

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tag: str,
        tools: Sequence[Mapping[str, Json]] | None = None,
        tool_choice: str | None = None,
        schema: Mapping[str, Json] | None = None,
        draw: int = 0,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Completion:
        """One request. ``schema`` is sent where there are no tools; ``draw`` only as a seed.

        ``model`` and ``system_fingerprint`` are the server's words. What an unusable answer has
        cost is in the ``usage`` of the RetryableError.
        """
        own = {"temperature": temperature, "max_tokens": max_tokens}
        sampling = self._sampling | {k: v for k, v in own.items() if v is not None}
        request: dict[str, Any] = {k: v for k, v in sampling.items() if v is not None}
        mode = self._mode if tools else Native()
        offered = list(tools or ())
        if self._tool_choice == "auto":  # a choice that cannot be sent is made by what is offered
            offered = list(forced_only(offered, tool_choice))
        asked = mode.prepare(messages, offered, tool_choice)
        if asked.tools:
            request["tools"] = [dict(tool) for tool in asked.tools]
            if tool_choice is not None:
                wanted = tool_choice if self._tool_choice == "required" else "auto"
                request["tool_choice"] = choice_to_wire(wanted)
        elif asked.schema is not None or (schema is not None and not tools):
            request["response_format"] = response_format(asked.schema or dict(schema or {}), tag)
        if self._send_seed:
            request["seed"] = _derived_seed(self._seed, draw)
        body = {**self._params, **request, "messages": to_wire(asked.messages)}
        answer = await self._send(body)
        message, finish = self._usable(answer)
        self._proved = True
        return Completion(
            mode.read(message, messages, offered),
            usage_of(answer, self._price),
            finish,
            self._clean(str(part(answer, "model") or self._model)),
            self._clean(str(part(answer, "system_fingerprint") or "")),
        )

    def _clean(self, text: str) -> str:
        """A short text of the server on one line; it is mostly the same as in the call before."""
        if text not in self._harmless:
            cleaned = one_line(text, secrets())
            if cleaned != text:
                return cleaned
            self._harmless = frozenset([*sorted(self._harmless)[-8:], text])
        return text

    # -- what a client adds ------------------------------------------------------------------

    @abstractmethod
    def _load(self) -> type[Exception]:
        """Import the client's library; the base class of its exceptions."""

    @abstractmethod
    def _locate(self) -> tuple[str, str | None]:
        """Provider and URL (None where the library alone knows it). UserError if none fits."""

    @abstractmethod
    def _priced_as(self) -> str:
        """``PROVIDER/NAME`` as the price table writes it."""

    @abstractmethod
    def _own_key(self) -> str | None:
        """The key of the provider itself; None: the library finds it. FatalBackboneError."""

    @abstractmethod
    async def _post(self, body: Mapping[str, Any], key: str | None) -> Any:
        """One request and its answer: JSON, or an object with attributes."""

    @abstractmethod
    def _closer(self) -> AsyncGenerator[None, None]:
        """A generator whose end closes the connections of the running loop."""

    # -- sending -----------------------------------------------------------------------------

    async def _send(self, body: Mapping[str, Any]) -> Any:
        """One request, or one of our errors; nothing of the library's exception is chained."""
        key = self._key()
        await self._close_with_the_loop()
        failure: Exception
        try:
            # The libraries' own time-outs are per read: a server that dribbles would hold the call.
            answer = await asyncio.wait_for(self._post(body, key), self._timeout)
        except (TimeoutError, UnreadableError, self._library_error) as error:
            failure = error
        else:
            found = failure_in(answer) if isinstance(answer, Mapping) else None
            if found is None:
                return answer
            raise sort_failure(found, self._asked())
        raise await self._sorted(failure)

    async def _sorted(self, error: Exception) -> ArkError:
        failure = failure_of(error)
        # Once something has answered, a lost connection is an accident and may pass.
        if (
            not self._proved
            and failure.lost_connection
            and (failure.never_connected or not await listens(self._target))
        ):
            return no_server(self._asked())
        return sort_failure(failure, self._asked())

    def _usable(self, answer: Any) -> tuple[Any, str]:
        """The message and why it ended. RetryableError with the usage of an answer without one."""
        choices = part(answer, "choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        message = part(first, "message")
        finish = str(part(first, "finish_reason") or "stop")
        if message is None or isinstance(message, str | int | float | list):
            raise unusable(self._asked(), "the answer has no message", self._paid(answer))
        if says_nothing(message, finish):
            raise unusable(
                self._asked(),
                f"the answer has neither text nor calls (finish {one_line(finish)})",
                self._paid(answer),
            )
        return message, finish

    def _paid(self, answer: Any) -> Any:
        return usage_of(answer, self._price) if part(answer, "usage") else None

    def _asked(self) -> Asked:
        return Asked(self._model, self._where(), self._key_hint(), self._timeout, self._proved)

    def _key(self) -> str | None:
        """Looked up for each call and never kept; None: the library finds it."""
        if self._key_env is not None:
            key = read_key(self._key_env)
            if not key:
                raise FatalBackboneError(
                    f"no key for {self._where()}: set {self._key_env} in the environment or in a "
                    "file .env here (backbone.api_key_env names it)"
                )
            return key
        return NO_KEY if self._api_base is not None else self._own_key()

    def _key_hint(self, names: Sequence[str] = ()) -> str:
        if self._key_env is not None:
            return f"check the key in {self._key_env}"
        if self._api_base is not None:
            return "name the variable that holds its key, backbone.api_key_env=NAME"
        usual = " or ".join(names) or f"{self._provider.upper()}_API_KEY"
        return f"set {usual}, or name another variable, backbone.api_key_env=NAME"

    def _no_key(self, names: Sequence[str]) -> FatalBackboneError:
        return FatalBackboneError(f"no key for {self._where()}: {self._key_hint(names)}")

    async def _close_with_the_loop(self) -> None:
        """Leave a generator open in the running loop: its end closes the client's connections.

        The protocol has no ``close``, and a sweep runs one loop a cell: without this each cell
        would leave its sockets open.
        """
        loop = asyncio.get_running_loop()
        if self._cleanup is None or self._cleanup[0] is not loop:
            ending = self._closer()
            self._cleanup = (loop, ending)
            await anext(ending)

    def _where(self) -> str:
        return shown_url(self._target) if self._target else f"provider {self._provider}"

    def _listed(self) -> Price | None:
        """The table's price. Nobody here knows what a server of one's own costs."""
        return None if self._api_base else find_price(self._priced_as(), self._params)


def _derived_seed(seed: int, draw: int) -> int:
    """31 bits that differ for different (seed, draw), as servers take a signed 32-bit number."""
    value = hashlib.sha256(f"{seed}:{draw}".encode()).digest()
    return int.from_bytes(value[:4], "big") >> 1
