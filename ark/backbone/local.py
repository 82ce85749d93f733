"""``backbone=local``: a language model on this machine, a GGUF file in process.

Tool calls go through schema mode. The file is read into memory at the first call, calls are made
one after another, and money is 0: it is the user's own machine.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path

from ark.backbone.local_engine import engine_for, engine_version
from ark.backbone.prices import Price
from ark.backbone.rules import draw_rng
from ark.backbone.schema_mode import VERSION, answer, contract, plain_messages
from ark.backbone.wire import forced_only, response_format, to_wire
from ark.errors import RetryableError, UserError
from ark.graph import data_root
from ark.graph.sources.stark.hashes import remembered_hashes
from ark.records import Completion, Json, Message, Usage

DEFAULT_MODEL = "smollm2-135m-instruct-q4_1.gguf"  # where scripts/get_model.py smollm2 puts it
FETCH = "python scripts/get_model.py smollm2"
FIXED_SAMPLING = {"top_k": 40, "min_p": 0.05}  # llama.cpp's own, named so that they stay


class LocalBackbone:
    """A GGUF model through ``xllamacpp``. ``identity`` holds the hash of the file, not its path."""

    is_llm = True

    def __init__(
        self,
        model_path: str | None = None,
        lora_path: str | None = None,
        context: int = 8192,
        temperature: float = 0.7,
        top_p: float = 0.95,
        max_tokens: int = 512,
        state_schema: bool = True,
        example: bool = True,
        constrain: bool = True,
        prefix_cache: bool = True,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        """What changes answers first (to ``prefix_cache``).

        Args:
            model_path: a GGUF file of a chat model; by default SmolLM2 as ``get_model.py`` puts it.
            lora_path: a LoRA adapter for it, in GGUF form too.
            context: tokens that a conversation may have; a longer one ends with what it has.
            temperature: of calls whose method gives none; 0 takes the most likely token.
            top_p: nucleus sampling.
            max_tokens: longest answer of calls whose method gives none.
            state_schema: schema of the state: only tools, nodes and types that make sense now.
            example: one worked example in the prompt.
            constrain: hold the model to the schema; False sends the prompt alone.
            prefix_cache: keep what was computed for the beginning of a prompt. False is far slower
                and repeats exactly; what is kept is rounded a little differently than what is new.
            threads: of the engine; None: all cores that this process may use. On a machine that
                others use too, fewer are faster.
            seed: the run's seed, given by the runner.

        Raises UserError where a file is missing. The engine is wanted by the first call only.
        """  # noqa: D413
        _number("context", context, 256, 1_048_576, whole=True)
        _number("temperature", temperature, 0, 10)
        _number("top_p", top_p, 0, 1)
        _number("max_tokens", max_tokens, 1, 1_000_000, whole=True)
        if threads is not None:
            _number("threads", threads, 1, 1024, whole=True)
        self._model = _model_file(model_path)
        self._lora = None if lora_path is None else _file("lora_path", lora_path)
        self._context, self._threads, self._seed = context, threads, seed
        self._temperature, self._top_p, self._max_tokens = temperature, top_p, max_tokens
        self._state_schema, self._example = bool(state_schema), bool(example)
        self._constrain, self._prefix_cache = bool(constrain), bool(prefix_cache)
        files = {"model": self._model} | ({"lora": self._lora} if self._lora else {})
        self._hashes = remembered_hashes(files, data_root() / "hashes")

    def __repr__(self) -> str:
        return f"LocalBackbone({self.label!r})"

    @property
    def identity(self) -> Mapping[str, Json]:
        """Content of the files, sampling, and how tools are called. No path, no threads."""
        lora = self._hashes.get("lora")
        return {
            "backbone": "local",
            "model": f"gguf sha256:{self._hashes['model']}",
            "lora": f"gguf sha256:{lora}" if lora else None,
            "context": self._context,
            "temperature": self._temperature,
            "top_p": self._top_p,
            **FIXED_SAMPLING,
            "max_tokens": self._max_tokens,
            "schema_mode": VERSION,
            "state_schema": self._state_schema,
            "example": self._example,
            "constrain": self._constrain,
            "prefix_cache": self._prefix_cache,
        }

    @classmethod
    def changed(cls, identity: Mapping[str, Json]) -> dict[str, Json]:
        """Settings of an identity that are no defaults: rows of tables name them."""
        usual = inspect.signature(cls).parameters
        files = ("model_path", "lora_path", "threads", "seed")
        return {
            name: identity[name]
            for name, parameter in usual.items()
            if name not in files and identity[name] != parameter.default
        }

    @property
    def label(self) -> str:
        """Name of the model's file, and of the adapter's."""
        return self._model.name + (f" + {self._lora.name}" if self._lora else "")

    @property
    def price(self) -> Price:
        """Nothing: it is the user's own machine. Not part of the identity."""
        return Price(0.0, 0.0, source="a model on this machine")

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
        """One answer. With tools a call of one of them, whatever ``tool_choice`` is.

        The seed of the sampling follows from the run's seed, ``draw`` and the conversation.
        """
        form: Json = None if schema is None else dict(schema)
        plain = plain_messages(messages)
        if tools:
            if not self._constrain:  # without a schema only what is shown can be forced
                tools = forced_only(tools, tool_choice)
            plain, form = contract(
                messages,
                tools,
                state_schema=self._state_schema,
                example=self._example,
                tool_choice=tool_choice,
            )
        request = {
            "messages": to_wire(plain),
            "max_tokens": max_tokens or self._max_tokens,
            "temperature": self._temperature if temperature is None else temperature,
            "top_p": self._top_p,
            **FIXED_SAMPLING,
            "seed": draw_rng(self._seed, draw, tag, messages).getrandbits(31),
            "cache_prompt": self._prefix_cache,
        }
        if form is not None and self._constrain:
            request["response_format"] = response_format(form, tag)
        engine = engine_for(self._model, self._lora, self._context, self._threads)
        done = await engine.chat(request)
        return self._completion(done, messages, tools)

    def _completion(
        self,
        done: Mapping[str, Json],
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Json]] | None,
    ) -> Completion:
        choice = (done.get("choices") or [{}])[0]
        text = choice.get("message", {}).get("content")
        usage = done.get("usage") or {}
        spent = Usage(
            1,
            usage.get("prompt_tokens", 0),
            usage.get("completion_tokens", 0),
            0.0,
            cached_tokens=usage.get("prompt_tokens_details", {}).get("cached_tokens", 0),
        )
        if text is None:
            raise RetryableError(f"{self.label}: the answer has no text", usage=spent)
        said = answer(text, tools, messages) if tools else Message("assistant", text)
        finish = str(choice.get("finish_reason") or "stop")
        if said.tool_calls and finish == "stop":
            finish = "tool_calls"
        return Completion(said, spent, finish, self.label, engine_version())


def _model_file(path: str | None) -> Path:
    if path is not None:
        return _file("model_path", path)
    default = data_root() / "models" / DEFAULT_MODEL
    if not default.is_file():
        raise UserError(
            f"backbone=local has no model yet: {FETCH}, or backbone.model_path=FILE for any GGUF "
            "file of a chat model"
        )
    return default


def _file(name: str, path: str) -> Path:
    found = Path(path).expanduser()
    if not found.is_file():
        raise UserError(
            f"backbone.{name}={path}: no such file; {FETCH} fetches a small model, and "
            "backbone.model_path=null takes it"
        )
    return found


def _number(name: str, value: float, low: float, high: float, *, whole: bool = False) -> None:
    kind = int if whole else (int, float)
    if not isinstance(value, kind) or isinstance(value, bool) or not low <= value <= high:
        what = "a whole number" if whole else "a number"
        raise UserError(f"backbone.{name}={value} must be {what} from {low:g} to {high:g}")
