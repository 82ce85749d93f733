"""What every source of graphs must do: each name that ``source_for`` knows."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_stark import write_all

from ark.errors import UserError
from ark.graph import GraphSource, KnowledgeGraph, open_or_build, source_for, source_names
from ark.protocols import Graph
from ark.queries.stark import STARK_GRAPHS

SAMPLE = 300  # nodes looked at; graphs may be large


class SourceContract:
    """Override ``make`` to say which source: a function that makes a new one each time."""

    @pytest.fixture
    def make(self) -> Any:
        raise NotImplementedError

    @pytest.fixture
    def graph(self, make: Any, data_root_path: Path) -> KnowledgeGraph:
        return open_or_build(make(), data_root_path)

    def test_key_and_provenance_repeat(self, make: Any) -> None:
        one, other = make(), make()
        assert isinstance(one, GraphSource)
        assert one.key() == other.key()
        assert re.fullmatch(r"[0-9a-f]{32,}", one.key())
        said = one.provenance()
        assert said == other.provenance()
        assert said.origin
        assert said.licence
        assert all(re.fullmatch(r"[0-9a-f]{64}", h) for h in said.files.values())

    def test_the_folder_says_what_it_is(self, graph: KnowledgeGraph, make: Any) -> None:
        assert isinstance(graph, Graph)
        assert graph.manifest["counts"]["nodes"] == graph.n_nodes > 0
        assert graph.manifest["content_hash"] == graph.content_hash
        assert json.loads((graph.path / "manifest.json").read_text()) == graph.manifest
        assert (graph.path / "LICENSE.data").is_file()
        wanted = make().provenance().content_hash
        assert wanted in (None, graph.content_hash)

    def test_nodes_have_what_searches_and_tables_read(self, graph: KnowledgeGraph) -> None:
        for i in sample(graph):
            node = graph.node(i)
            assert graph.index(node.id) == i
            assert node.name.strip()
            assert node.type in graph.node_types
            assert i in graph.of_type(node.type)
            assert graph.canonical(graph.canonical(i)) == graph.canonical(i) <= i
            json.dumps(dict(node.attrs), allow_nan=False)
        assert sum(len(graph.of_type(t)) for t in graph.node_types) == graph.n_nodes

    def test_both_directions_tell_the_same_edges(self, graph: KnowledgeGraph) -> None:
        for i in sample(graph):
            targets, relations, numbers = graph.out_edges(i)
            assert set(relations.tolist()) <= set(range(len(graph.relations)))
            for j, relation, number in zip(targets, relations, numbers, strict=True):
                sources, back, same = graph.in_edges(int(j))
                at = np.flatnonzero(same == number)
                assert sources[at].tolist() == [i]
                assert back[at].tolist() == [relation]
            near = graph.neighbors(i)
            both = np.concatenate([targets, graph.in_edges(i)[0]])
            assert near.tolist() == sorted(set(both.tolist()) - {i})

    def test_an_unknown_setting_is_refused(self, make: Any) -> None:
        with pytest.raises(UserError, match="no_such_setting"):
            source_for(self.source_name, no_such_setting=1)

    source_name = "toy"


def sample(graph: KnowledgeGraph) -> list[int]:
    few = min(SAMPLE, graph.n_nodes)
    return sorted(random.Random(0).sample(range(graph.n_nodes), few))


class TestShippedSources(SourceContract):
    """``files``, ``table`` and STaRK read small folders; a missing package skips its source."""

    @pytest.fixture(params=source_names())
    def make(
        self,
        request: pytest.FixtureRequest,
        tmp_path: Path,
        data_root_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Any:
        self.source_name = request.param
        settings: dict[str, Any] = {}
        if request.param in ("files", "table"):
            settings["path"] = tmp_path
            (tmp_path / "nodes.csv").write_text("id,type,name,text\na,t,A,x\nb,t,A,\nc,u,C,z\n")
            (tmp_path / "edges.csv").write_text("source,target,type\na,b,r\na,b,r\nc,c,s\nb,c,s\n")
        if request.param == "files":
            settings["columns"] = {"relation": "type"}
        if request.param == "metaqa":
            settings["root"] = tmp_path
            (tmp_path / "kb.txt").write_text("A|directed_by|B\nA|has_tags|A\nC|written_by|B\n")
        if request.param in STARK_GRAPHS:  # the data hub is never asked by a test
            monkeypatch.setenv("ARK_DATA", str(data_root_path))
            settings["root"] = write_all(tmp_path)
        try:
            source = source_for(request.param, **settings)
            source.key()
        except UserError as error:
            if "pip install" not in str(error):
                raise
            pytest.skip(str(error))
        return lambda: source_for(request.param, **settings)
