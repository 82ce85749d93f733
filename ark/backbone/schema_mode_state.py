"""What makes sense now: the JSON schema of one call, made of what the conversation has shown.

Backbones are stateless, so the state is read from the messages: the rows of earlier observations
(``ark.backbone.conversation``) and the type lists of the system message. A tool is offered when
its arguments can be filled in:

* one with ``node_index`` or ``answer_nodes`` once a node has been shown that it can take, one with
  ``node_indices`` once two have been shown; nodes in the answer list are not offered for it again;
* ``finish`` once the answer list has a node, or once ``NOTHING_FOUND`` calls have shown none;
* every other tool always. If no tool is left, all are offered as they are;
* a tool that was called twice in a row with the same arguments not, for the next call only, if
  another one is left: small models get stuck.

Node arguments take shown nodes only, ``node_type`` and ``edge_type`` names of the graph only, and
texts and lists have a longest length, so that a small model cannot run on to the end of its budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ark.backbone.ark_rules import ADD, FINISH
from ark.backbone.conversation import Conversation, Seen
from ark.records import Json, Message

NOTHING_FOUND = 3
MOST_NODES = 100  # choices of a node argument; those named last stay
MOST_TYPES = 200  # longer lists stay in the prompt and out of the schema
MOST_ADDED = 10  # nodes of one call
MOST_CENTERS = 10
LONGEST = {"reasoning": 100, "comment": 100}
LONGEST_TEXT = 200
LARGEST = 100  # of sizes and pages
_TYPES = ("node_type", "edge_type")


@dataclass(frozen=True)
class State:
    """What a conversation has shown so far. ``shown`` is in order of the last mention."""

    shown: tuple[int, ...] = ()
    picked: frozenset[int] = frozenset()
    calls: int = 0
    node_types: tuple[str, ...] = ()
    edge_types: tuple[str, ...] = ()
    repeated: str | None = None
    """The tool of the last two calls, if they were the same."""

    @classmethod
    def read(cls, messages: Sequence[Message]) -> State:
        """Never raises: what cannot be read is left out."""
        view = Conversation.read(messages)
        order: dict[int, None] = {}
        picked: set[int] = set()
        for call in view.calls:
            named = [index for index in _named(call.arguments) if index in order]
            for index in [*named, *(row.index for row in call.rows)]:
                order.pop(index, None)
                order[index] = None
            if call.tool == ADD:
                picked |= {row.index for row in call.rows}
        node_types, edge_types = view.type_lists()
        return cls(
            tuple(order),
            frozenset(picked),
            len(view.calls),
            tuple(node_types),
            tuple(edge_types),
            _repeated(view.calls),
        )

    @property
    def open(self) -> tuple[int, ...]:
        """Shown and not in the answer list."""
        return tuple(i for i in self.shown if i not in self.picked)

    def offers(self, name: str, properties: Mapping[str, Json]) -> bool:
        """Whether a tool with these arguments makes sense now."""
        if name == FINISH:
            return bool(self.picked) or (self.calls >= NOTHING_FOUND and not self.shown)
        if "answer_nodes" in properties:
            return bool(self.open)
        if "node_indices" in properties:
            return len(self.shown) >= 2
        return "node_index" not in properties or bool(self.shown)


def call_schema(
    tools: Sequence[Mapping[str, Json]], state: State | None, tool_choice: str | None = None
) -> dict[str, Json]:
    """JSON schema of ``{"name": ..., "arguments": {...}}`` for one of the tools.

    Without a ``state`` every tool with its own parameters. ``tool_choice`` may name one tool.
    """
    functions = [tool["function"] for tool in tools]
    functions = [f for f in functions if f["name"] == tool_choice] or functions
    offered = [f for f in functions if state and state.offers(f["name"], _properties(f))]
    offered = [f for f in offered if state and f["name"] != state.repeated] or offered
    fitting = state if offered else None
    calls = [_call(f, fitting) for f in offered or functions]
    return calls[0] if len(calls) == 1 else {"anyOf": calls}


def _call(function: Mapping[str, Json], state: State | None) -> dict[str, Json]:
    arguments = _plain(function.get("parameters") or {"type": "object", "properties": {}})
    if state is not None:
        arguments["properties"] = {
            name: _fitted(name, value, state) for name, value in _properties(function).items()
        }
    return {
        "type": "object",
        "properties": {"name": {"const": function["name"]}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _properties(function: Mapping[str, Json]) -> Mapping[str, Json]:
    return dict((function.get("parameters") or {}).get("properties", {}))


def _plain(schema: Json) -> Json:
    """Without descriptions: they stand in the prompt."""
    if isinstance(schema, list):
        return [_plain(s) for s in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {k: _plain(v) for k, v in schema.items() if k != "description" or not _is_text(v)}


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _fitted(name: str, schema: Json, state: State) -> dict[str, Json]:
    """One argument, narrowed to what the state allows."""
    plain = _plain(schema)
    if name == "node_index":
        return _one_of(state.shown)
    if name == "node_indices":
        return _list(_one_of(state.shown), 2, MOST_CENTERS)
    if name == "answer_nodes":
        item = _plain(schema["items"])
        inner = {k: _fitted(k, v, state) for k, v in item.get("properties", {}).items()}
        inner["node_index"] = _one_of(state.open)
        most = min(MOST_ADDED, len(state.open))
        return _list({**item, "properties": inner}, 1, most)
    if name in _TYPES:
        names = state.node_types if name == _TYPES[0] else state.edge_types
        if 0 < len(names) <= MOST_TYPES:
            one = {"enum": list(names)}
            return {"anyOf": [one, _list(one, 1, len(names))]} if "anyOf" in plain else one
    return _bounded(name, plain)


def _bounded(name: str, plain: dict[str, Json]) -> dict[str, Json]:
    if plain.get("type") == "string" and "enum" not in plain:
        return {**plain, "maxLength": LONGEST.get(name, LONGEST_TEXT)}
    if plain.get("type") == "integer" and "enum" not in plain:
        return {"minimum": 1, "maximum": LARGEST, **plain}
    return plain


def _one_of(nodes: Sequence[int]) -> dict[str, Json]:
    return {"enum": list(nodes[-MOST_NODES:])}


def _list(item: Json, least: int, most: int) -> dict[str, Json]:
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def _named(arguments: Mapping[str, Json]) -> Iterator[int]:
    """Node numbers among the arguments of a call."""
    values = [arguments.get("node_index")]
    for name in ("node_indices", "answer_nodes"):
        given = arguments.get(name)
        values += given if isinstance(given, list) else [given]
    for value in values:
        index = value.get("node_index") if isinstance(value, dict) else value
        if isinstance(index, int) and not isinstance(index, bool):
            yield index


def _repeated(calls: Sequence[Seen]) -> str | None:
    last = [(call.tool, call.arguments) for call in calls[-2:]]
    return last[0][0] if len(last) == 2 and last[0] == last[1] else None
