"""``backbone=litellm``: any provider's model, or any OpenAI-compatible server, through litellm.

One call of ours is one request: litellm's own retries are off, and what fails is told apart in
``errors_litellm`` so that the runner can decide. Importing litellm takes seconds and, left alone,
fetches a price list: it is imported only when this backbone is made.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from ark.backbone import settings_litellm as check
from ark.backbone.errors_litellm import (
    Asked,
    lost_connection,
    never_connected,
    no_server,
    one_line,
    shown_url,
    sort_error,
)
from ark.backbone.library_litellm import closer, import_quietly, listens
from ark.backbone.prices import Price, find_price, own_price
from ark.backbone.wire import from_wire, response_format, to_wire
from ark.errors import ArkError, FatalBackboneError, RetryableError, UserError
from ark.records import Completion, Json, Message, Usage

OPENAI = "https://api.openai.com/v1"
NO_KEY = "no-key"  # what servers without keys get; never the key of another provider


class LiteLLMBackbone:
    """A model behind litellm. ``identity`` holds what changes answers, nothing of the transport."""

    def __init__(
        self,
        model: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        send_seed: bool = False,
        params: Mapping[str, Json] | None = None,
        api_base: str | None = None,
        api_key_env: str | None = None,
        timeout: float = 120.0,
        price: Sequence[float] | None = None,
        seed: int = 0,
    ) -> None:
        """Identity first (to ``params``), then transport; None leaves the provider's default.

        Args:
            model: name as litellm takes it, ``PROVIDER/NAME``; ``openai/NAME`` for own servers.
            temperature: of calls whose method gives none.
            top_p: nucleus sampling.
            max_tokens: of calls whose method gives none.
            send_seed: send a seed made of the run's seed and the draw; not every model takes one.
            params: further parameters of the call, sent as they are (``reasoning_effort``, ...).
            api_base: URL of an OpenAI-compatible server, up to and with ``/v1``.
            api_key_env: name of the environment variable that holds the key. By default the
                provider's own, and none at all where ``api_base`` is set.
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
        self._api_base = check.server_url(api_base)
        self._key_env = check.variable(api_key_env)
        self._timeout = float(timeout)
        own = check.prices(price)
        self._litellm, self._library_error = import_quietly()
        self._provider, self._target = self._locate()
        self._price = own_price(own) if own else self._listed()
        self._proved = False  # the model has answered with these settings
        self._key_found = False
        self._cleanup: tuple[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] | None = None

    def __repr__(self) -> str:
        return f"LiteLLMBackbone({self._model!r} at {self._where()})"

    @property
    def identity(self) -> Mapping[str, Json]:
        """Model and sampling. No URL, key, time-out or price."""
        return {
            "backbone": "litellm",
            "model": self._model,
            **self._sampling,
            "seed": self._seed if self._send_seed else None,
            "params": self._params,
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

        ``cost`` is None where the price or the token counts are unknown.
        """
        own = {"temperature": temperature, "max_tokens": max_tokens}
        sampling = self._sampling | {k: v for k, v in own.items() if v is not None}
        request: dict[str, Any] = {k: v for k, v in sampling.items() if v is not None}
        if tools:
            request["tools"] = [dict(tool) for tool in tools]
            if tool_choice is not None:
                request["tool_choice"] = tool_choice
        elif schema is not None:
            request["response_format"] = response_format(dict(schema), tag)
        if self._send_seed:
            request["seed"] = _derived_seed(self._seed, draw)
        answer = await self._send(to_wire(messages), {**self._params, **request})
        choices = getattr(answer, "choices", None) or [None]
        message = getattr(choices[0], "message", None)
        if message is None:
            raise RetryableError(f"{self._model}: the answer has no message")
        self._proved = True
        finish = str(getattr(choices[0], "finish_reason", None) or "stop")
        served = one_line(str(getattr(answer, "model", None) or self._model))
        return Completion(from_wire(message, messages), self._usage(answer), finish, served)

    # -- sending -----------------------------------------------------------------------------

    async def _send(self, messages: list[dict[str, Json]], request: Mapping[str, Any]) -> Any:
        """One request, or one of our errors; nothing of the library's exception is chained."""
        access = {"api_key": self._key(), "api_base": self._api_base}
        if self._api_base is None and self._provider == "openai":
            access["api_base"] = OPENAI  # else OPENAI_BASE_URL would choose another server
        await self._close_with_the_loop()
        call = self._litellm.acompletion(
            model=self._model,
            messages=messages,
            timeout=self._timeout,
            num_retries=0,
            max_retries=0,
            **{k: v for k, v in access.items() if v is not None},
            **request,
        )
        failure: Exception
        try:
            # litellm's own time-out is per read: a server that dribbles would hold the call.
            return await asyncio.wait_for(call, self._timeout)
        except (TimeoutError, self._library_error) as error:
            failure = error
        raise await self._sorted(failure)

    async def _sorted(self, error: Exception) -> ArkError:
        asked = Asked(self._model, self._where(), self._key_hint(), self._timeout, self._proved)
        # Once something has answered, a lost connection is an accident and may pass.
        if (
            not self._proved
            and lost_connection(error)
            and (never_connected(error) or not await listens(self._target))
        ):
            return no_server(asked)
        return sort_error(error, asked)

    def _key(self) -> str | None:
        """Read from the environment for each call and never kept; None: litellm reads it."""
        if self._key_env is not None:
            key = os.environ.get(self._key_env, "").strip()
            if not key:
                raise FatalBackboneError(
                    f"no key for {self._where()}: set {self._key_env} in the environment "
                    "(backbone.api_key_env names it)"
                )
            return key
        if self._api_base is not None:
            return NO_KEY
        if not self._key_found:
            # Without this some providers are asked without a key, others report a status 500.
            missing = self._litellm.validate_environment(self._model)["missing_keys"]
            if missing and all(name.endswith("_API_KEY") for name in missing):
                raise FatalBackboneError(f"no key for {self._where()}: {self._key_hint(missing)}")
            self._key_found = True
        return None

    def _key_hint(self, names: Sequence[str] = ()) -> str:
        if self._key_env is not None:
            return f"check the key in {self._key_env}"
        if self._api_base is not None:
            return "name the variable that holds its key, backbone.api_key_env=NAME"
        usual = " or ".join(names) or f"{self._provider.upper()}_API_KEY"
        return f"set {usual}, or name another variable, backbone.api_key_env=NAME"

    async def _close_with_the_loop(self) -> None:
        """Leave a generator open in the running loop: its end closes litellm's connections.

        The protocol has no ``close``, and a sweep runs one loop a cell: without this each cell
        would leave its sockets open.
        """
        loop = asyncio.get_running_loop()
        if self._cleanup is None or self._cleanup[0] is not loop:
            ending = closer(self._litellm)
            self._cleanup = (loop, ending)
            await anext(ending)

    # -- where and how much ------------------------------------------------------------------

    def _locate(self) -> tuple[str, str | None]:
        """Provider and URL (None where litellm alone knows it)."""
        given = self._api_base
        try:
            _, provider, _, default = self._litellm.get_llm_provider(self._model, api_base=given)
        except self._library_error:
            raise UserError(
                f"backbone.model={self._model} names no provider that litellm knows: write "
                f"PROVIDER/NAME, or openai/{self._model} with backbone.api_base=URL for a server "
                "of your own"
            ) from None
        if provider == "hosted_vllm" and given is None and "HOSTED_VLLM_API_BASE" not in os.environ:
            # litellm would send the questions to api.openai.com.
            raise UserError(
                f"backbone.model={self._model} needs backbone.api_base=http://HOST:PORT/v1"
            )
        return str(provider), given or default or (OPENAI if provider == "openai" else None)

    def _where(self) -> str:
        return shown_url(self._target) if self._target else f"provider {self._provider}"

    def _listed(self) -> Price | None:
        """The table's price. Nobody here knows what a server of one's own costs."""
        if self._api_base is not None:
            return None
        name, provider, *_ = self._litellm.get_llm_provider(self._model)
        return find_price(f"{provider}/{name}", self._params)

    def _usage(self, answer: Any) -> Usage:
        usage = getattr(answer, "usage", None)
        prompt = _count(getattr(usage, "prompt_tokens", 0))
        completion = _count(getattr(usage, "completion_tokens", 0))
        # litellm gives 0 where the server counts nothing, and no prompt is empty.
        if self._price is None or not prompt:
            return Usage(1, prompt, completion, None)
        details = getattr(usage, "prompt_tokens_details", None)
        cached = _count(getattr(details, "cached_tokens", 0))
        written = _count(getattr(details, "cache_creation_tokens", 0))
        cost = self._price.cost_of_call(prompt, completion, cached=cached, written=written)
        return Usage(1, prompt, completion, cost)


def _derived_seed(seed: int, draw: int) -> int:
    """31 bits that differ for different (seed, draw), as servers take a signed 32-bit number."""
    value = hashlib.sha256(f"{seed}:{draw}".encode()).digest()
    return int.from_bytes(value[:4], "big") >> 1


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
