"""``method=kg_agent``: a planner that writes a program over sets (KG-Agent, arXiv 2402.11163)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ark.errors import UserError, unknown
from ark.protocols import Context
from ark.records import Attempt, Json
from baselines.common import number, settings, whole_number
from baselines.kg_agent.answer import DROPS, ORDERS
from baselines.kg_agent.loop import Settings, run_program


@dataclass(frozen=True)
class KGAgent:
    """One program a question, one call of the model a step; two calls before that for linking."""

    label: ClassVar[str] = "KG-Agent (prompted planner)"
    label_without_model: ClassVar[str] = "KG-Agent (rule-based planner)"
    links_seeds: ClassVar[bool] = True
    reading_fields: ClassVar[frozenset[str]] = frozenset()

    seeds: int = 5
    """Topic entities at most: v0, v1, ... of the program."""
    max_steps: int = 30
    """Calls of the planner at most (30 in the authors' code; the paper states none)."""
    memory_tokens: int = 4000
    """Longest prompt, in estimated tokens of 4 characters (2048 in the authors' script)."""
    max_tokens: int | None = None
    """Longest answer; null leaves the backbone's own (128 in the authors' code)."""
    temperature: float | None = 0.0
    """0: greedy, as the authors' code; null leaves the backbone's own."""
    repairs: int = 2
    """Refused calls in a row that are sent back with their error; one more ends the program."""
    strict: bool = True
    """False: wrong names are guessed, failed constraints and empty sets left out silently."""
    keep_last: bool = True
    """Without end, the last set that is not empty is the answer; False: none, as in the code."""
    drop_topics: str = "used"
    """What is taken out of an answer: topic entities that calls used and entities written by id,
    unless nothing else is in it; or, as in the code, these and all topic entities, always."""
    relation_k: int = 10
    """Relations that retrieve_relation gives (an argument without a value in the code)."""
    search_in: bool = False
    """Extension: a tool that ranks a set by the text of its nodes; the paper has none."""
    more_tools: bool = False
    """Extension: difference of sets, operators contains and != (for programs that need them)."""
    order: str = "bm25"
    """Order inside a set: bm25 of the question, or random as the paper's Hits@1 draws."""

    def __post_init__(self) -> None:
        for name, least in (
            ("seeds", 1),
            ("max_steps", 1),
            ("memory_tokens", 1500),
            ("repairs", 0),
            ("relation_k", 1),
        ):
            whole_number(name, getattr(self, name), least)
        if self.max_tokens is not None:
            whole_number("max_tokens", self.max_tokens, 1)
        if self.temperature is not None:
            number("temperature", self.temperature, 0, 10)
        for name in ("strict", "keep_last", "search_in", "more_tools"):
            if not isinstance(getattr(self, name), bool):
                raise UserError(f"method.{name}={getattr(self, name)} must be true or false")
        if self.order not in ORDERS:
            raise UserError(unknown("method.order", self.order, ORDERS))
        if self.drop_topics not in DROPS:
            raise UserError(unknown("method.drop_topics", self.drop_topics, DROPS))

    @property
    def agents(self) -> int:
        """One: decoding is greedy."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings; what the prompts are, the fingerprint tells."""
        heat = None if self.temperature is None else float(self.temperature)  # 0 is 0.0
        return {**settings(self), "temperature": heat}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        """At most ``max_steps`` + 2 calls (each of linking's two may be repaired once)."""
        chosen = Settings(**{f.name: getattr(self, f.name) for f in fields(Settings)})
        return await run_program(question, ctx, chosen, agent)

    probe: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "content": '{"mentions": ["copper moth", "walled garden Mercury"], "chosen": [1, 4], '
            '"call": "v2 = get_relation(v0)"}'
        },
        {"content": '{"call": "v3 = get_tail_entity(v0, visits)"}'},
        {"content": '{"call": "v4 = get_tail_entity(v0, grow in)"}'},
        {"content": "v4 = get_candidate_entity(Mercury)"},
        {"content": '{"call": "v5 = disambiguate_entity(v4)"}'},
        {"content": '{"call": "v6 = get_entity_by_type(plant)"}'},
        {"content": '{"call": "v7 = get_entity_by_constraint(v6, height_m, >, 1)"}'},
        {"content": '{"call": "v8 = union(v3, v7)"}'},
        {"content": '{"call": "v9 = retrieve_relation(v2)"}'},
        {"content": '{"call": "v9 = judge(v6, colours, =, blue)"}'},
        {"content": '{"call": "v10 = search_in(v8, flowers open after sunset, 3)"}'},
        {"content": '{"call": "v11 = intersect(v6, v8)"}'},
        {"content": '{"call": "v12 = count(v11)"}'},
        {"content": '{"call": "end(v11)"}'},
    )


@dataclass(frozen=True)
class KGAgentSFT(KGAgent):
    """The same procedure, prompts and bounds, for a backbone that was fine-tuned to plan.

    Whether it was cannot be seen from here: the name is the user's word for their own model.
    """

    label: ClassVar[str] = "KG-Agent (SFT planner)"
