"""Constants become nodes, and candidates come from the edges around them, step by step wider."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ark.program.adjacency import Adjacency
from ark.protocols import Context, Ints
from ark.text import tokens
from baselines.af_retriever.plan import Plan
from baselines.af_retriever.tree import Branch, Leaf, closed_branches, leaves, loose_branches
from baselines.common import PerGraph
from baselines.string_match import names_of

SEARCHED = 200  # hits of a constant's text that are looked through
ALIKE = 0.5  # share of words in common above which a node is named after a constant

Words = tuple[str, ...]

adjacency_of = PerGraph(Adjacency)


@dataclass(frozen=True, slots=True)
class Scope:
    """How far constants are widened, and when candidates are enough."""

    first: int
    most: int
    enough: int

    def sizes(self) -> Iterator[int]:
        """Groundings of each constant: the first size, then doubled up to the most."""
        size = self.first
        while size < self.most:
            yield size
            size *= 2
        yield self.most


@dataclass
class Candidates:
    """Nodes that fulfil some constraint, the most constraints first, then the narrowest scope."""

    groups: list[Ints] = field(default_factory=list)
    """Candidates that are equal so far; within one the text decides."""
    constraints: int = 0
    doubtful: int = 0
    """Constraints beside these that only decide among equal nodes."""
    satisfied: int = 0
    """The most constraints that one candidate fulfils."""
    scope: int = 0
    """Groundings of each constant at the end."""


@dataclass
class Join:
    """The constraints of one question over one graph."""

    ctx: Context
    plan: Plan
    branches: tuple[Branch, ...] = ()
    named: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Nodes that a constant names in full: what a question names is not what it asks for."""
    grounded: dict[Leaf, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, ctx: Context, plan: Plan, most: int) -> Join:
        """Grounds every constant in at most ``most`` nodes (``Context.seeds`` where given)."""
        join = cls(ctx, plan, closed_branches(plan))
        closed = leaves(join.branches)
        if ctx.seeds is None:
            used = {leaf.text.casefold() for leaf in closed}
            loose = join._apart([t for t in _constants(plan) if t.casefold() not in used], most)
        else:
            taken = {i for leaf in closed for i in join._ground(leaf, most)}
            loose = [Leaf("", nodes=(i,)) for i in dict.fromkeys(ctx.seeds) if i not in taken]
        for leaf in loose:
            join.branches += loose_branches(leaf, plan)
        named = {i for leaf in leaves(join.branches) for i in join._named(leaf, most)}
        join.named = np.array(sorted(named), dtype=np.int64)
        return join

    def _apart(self, texts: Sequence[str], most: int) -> list[Leaf]:
        """Of constants that lie inside one another the one that a node is most nearly named."""
        words = {text: frozenset(tokens(text)) for text in texts}
        likeness = {text: self._likeness(Leaf(text), most) for text in texts}
        kept: list[str] = []
        for text in sorted(texts, key=lambda t: (-likeness[t], -len(words[t]))):
            if not any(words[text] <= words[k] or words[text] >= words[k] for k in kept):
                kept.append(text)
        return [Leaf(text) for text in texts if text in kept]

    def _likeness(self, leaf: Leaf, most: int) -> float:
        """Share of words that a constant has in common with a name of one of its nodes."""
        if leaf.nodes is not None or self.ctx.seeds is not None:
            return 1.0
        wanted = tuple(tokens(leaf.text))
        names = {name for i in self._ground(leaf, most) for name in self._names(i)}
        return max((_likeness(wanted, name) for name in names), default=0.0)

    def _named(self, leaf: Leaf, most: int) -> list[int]:
        """The nodes of a constant that it names in full; all where the seeds are given."""
        wanted = tuple(tokens(leaf.text))
        given = self.ctx.seeds is not None
        return [i for i in self._ground(leaf, most) if given or self._alike(wanted, i) == 1]

    def _alike(self, wanted: Words, node: int) -> float:
        return max(_likeness(wanted, name) for name in self._names(node))

    def _ground(self, leaf: Leaf, most: int) -> list[int]:
        """Nodes for a constant: those that it names in full, then as the search ranks them."""
        if leaf not in self.grounded:
            if leaf.nodes is not None:
                found = list(leaf.nodes)
            elif self.ctx.seeds is not None:
                found = self._of_seeds(leaf.text, self.ctx.seeds)
            else:
                wanted = tuple(tokens(leaf.text))
                hits = self._hits(leaf.text, wanted, most)
                typed = [i for i in hits if self.ctx.graph.type(i) in leaf.types]
                found = sorted(typed or hits, key=lambda i: self._alike(wanted, i) < 1)
            self.grounded[leaf] = found[:most]
        return self.grounded[leaf]

    def _hits(self, text: str, wanted: Words, most: int) -> list[int]:
        """What the search finds, then at most ``most`` of the nodes of this name beyond that: in
        a graph of long texts many others may hold its words more densely.
        """
        search = self.ctx.search
        hits = [hit.node for hit in search.search(text, SEARCHED)]
        rest = np.setdiff1d(names_of(self.ctx.graph).nodes(wanted), np.array(hits, dtype=np.int64))
        return hits + [hit.node for hit in search.rank(text, rest, most)] if len(rest) else hits

    def _names(self, node: int) -> set[Words]:
        graph = self.ctx.graph
        return {tuple(tokens(name)) for name in (graph.name(node), *graph.aliases(node))}

    def _of_seeds(self, text: str, seeds: Sequence[int]) -> list[int]:
        """The given seeds that share a word with a constant, the most alike first."""
        wanted = tuple(tokens(text))
        alike = {i: self._alike(wanted, i) for i in seeds}
        return sorted((i for i in alike if alike[i] > 0), key=lambda i: -alike[i])

    def candidates(self, scope: Scope) -> Candidates:
        """Widens the scope until enough nodes fulfil every constraint, or nothing is left to add.

        A node stands with the scope at which it first fulfilled as many constraints as it ever
        does. Arrays of one entry a node; time grows with the edges around the constants.
        """
        out = Candidates()
        sure, doubtful = self._sorted(scope.most)
        n = self.ctx.graph.n_nodes
        best, extra, since = (np.zeros(n, dtype=np.int64) for _ in range(3))
        allowed, longest = self._allowed(), max(map(len, self.grounded.values()), default=0)
        for size in scope.sizes() if sure else ():
            now, more = self._fulfilled(sure, size), self._fulfilled(doubtful, size)
            better = (now > best) | ((now == 0) & (best == 0) & (more > extra))
            best[better], extra[better], since[better] = now[better], more[better], size
            out.scope = size
            full = int(np.count_nonzero((best == len(sure)) & allowed))
            if full >= scope.enough or size >= longest:
                break
        reached = (best > 0) | (extra > 0)
        reached[self.named] = False
        if np.any(reached & allowed):  # else the type is doubted rather than the facts
            reached &= allowed
        nodes = np.flatnonzero(reached).astype(np.int64)
        out.constraints, out.doubtful = len(sure), len(doubtful)
        out.satisfied = int(best[nodes].max(initial=0))
        out.groups = list(_groups(nodes, -best[nodes], since[nodes], -extra[nodes]))
        return out

    def _fulfilled(self, branches: Sequence[Branch], size: int) -> Ints:
        """How many of the branches allow a node, shape (n_nodes,)."""
        found = np.zeros(self.ctx.graph.n_nodes, dtype=np.int64)
        for branch in branches:
            found[self._members(branch, size)] += 1
        return found

    def _sorted(self, most: int) -> tuple[list[Branch], list[Branch]]:
        """Constraints that count, and those that only decide among nodes that are equal so far.

        The latter are on constants that no node is named after; if all are such, all count.
        """
        parts: tuple[list[Branch], list[Branch]] = ([], [])
        for branch in self.branches:
            sure = all(self._likeness(leaf, most) > ALIKE for leaf in leaves([branch]))
            parts[not sure].append(branch)
        return parts if parts[0] else (parts[1], [])

    def _allowed(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        graph = self.ctx.graph
        allowed = np.full(graph.n_nodes, not self.plan.types)
        for node_type in self.plan.types:
            allowed[graph.of_type(node_type)] = True
        return allowed

    def _members(self, branch: Branch, size: int) -> Ints:
        """The nodes that a branch allows at its upper end, ascending, each once."""
        if isinstance(branch.below, Leaf):
            below = np.unique(np.array(self.grounded[branch.below][:size], dtype=np.int64))
        else:
            counts = self._fulfilled(branch.below, size)
            most = counts.max(initial=0)
            below = np.flatnonzero(counts == most).astype(np.int64) if most else _union([])
        graph = self.ctx.graph
        if branch.steps:
            numbers = {name: i for i, name in enumerate(graph.relations)}
            follow = adjacency_of(graph).follow
            found = [follow(below, numbers[name], backward=back) for name, back in branch.steps]
        else:
            found = [graph.neighbors(int(i)) for i in below]
        return _union(found)


def _constants(plan: Plan) -> list[str]:
    """All constants, those of triples that do not hang together with the answer too."""
    ends = (end for triple in plan.triples for end in (triple.subject, triple.object))
    texts = (*plan.constants, *(end.text for end in ends if end.kind == "constant"))
    return list({text.casefold(): text for text in reversed(texts)}.values())[::-1]


def _likeness(constant: Words, name: Words) -> float:
    """Share of words in common; 1 also for a name of several words that stands in the constant."""
    n = len(name)
    if n > 1 and any(constant[at : at + n] == name for at in range(len(constant) - n + 1)):
        return 1.0
    return len({*constant} & {*name}) / max(1, len({*constant} | {*name}))


def _union(sets: Sequence[Ints]) -> Ints:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *sets])).astype(np.int64)


def _groups(nodes: Ints, *keys: Ints) -> Iterator[Ints]:
    """Nodes of equal keys together, by ascending keys, the first key first."""
    if not len(nodes):
        return
    order = np.lexsort((nodes, *reversed(keys)))
    change = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    yield from np.split(nodes[order], np.flatnonzero(change) + 1)
