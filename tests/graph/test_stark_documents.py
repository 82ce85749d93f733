"""Documents of STaRK's nodes against what the real package printed (stark_documents/*.json)."""

from __future__ import annotations

import functools
import hashlib
import json
import runpy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ark.errors import UserError
from ark.graph.sources.stark import documents_amazon, documents_mag, documents_prime
from ark.graph.sources.stark.documents_common import QUIRKS, VERSIONS, Neighbor

FOLDER = Path(__file__).parent / "stark_documents"
MODULES: dict[str, ModuleType] = {
    "prime": documents_prime,
    "mag": documents_mag,
    "amazon": documents_amazon,
}
AFFILIATED = "author___affiliated_with___institution"


def expanded(value: Any) -> Any:
    """Fields recorded as ``{"$repeat": [text, times]}``, written out."""
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {key: expanded(part) for key, part in value.items()}
    return [expanded(part) for part in value] if isinstance(value, list) else value


@functools.cache
def recorded(graph: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{graph}.json").read_text(encoding="utf-8"))
    for node in found["nodes"]:
        node["info"] = expanded(node["info"])
    return found


def cases() -> list[Any]:
    """Nodes that the package can print, in an order that it defines."""
    return [
        pytest.param(graph, node["id"], id=f"{graph}-{node['id']}")
        for graph in MODULES
        for node in recorded(graph)["nodes"]
        if "text" in node and "order" not in node
    ]


def relations_of(graph: str, node: dict[str, Any]) -> dict[str, list[Neighbor]]:
    """The neighbours that the package reported, as ``relations_text`` takes them."""
    nodes, label = recorded(graph)["nodes"], MODULES[graph].label

    def neighbor(other: int) -> Neighbor:
        kind = nodes[other]["type"]
        places = nodes[other]["neighbors"].get(AFFILIATED, []) if kind == "author" else []
        named = tuple(label(nodes[place]["info"], "institution") for place in places)
        return Neighbor(kind, label(nodes[other]["info"], kind), named)

    return {rel: [neighbor(other) for other in ids] for rel, ids in node["neighbors"].items()}


def test_tiny_folders_print_what_the_package_prints(shared: Path) -> None:
    """The records of ../shared/fixtures/make_tiny_stark.py, in the order of their ids."""
    script = runpy.run_path(str(shared / "fixtures" / "make_tiny_stark.py"))
    tiny = json.loads((FOLDER / "tiny.json").read_text(encoding="utf-8"))
    checked = 0
    for graph, module in MODULES.items():
        made = script[graph]()
        kinds = [made["node_type_dict"][number] for number in made["node_types"]]
        for node, (info, kind) in enumerate(zip(made["node_info"].values(), kinds, strict=True)):
            if len(info.get("review", [])) <= 16:  # forty equal votes: no order is defined
                assert module.document(info, kind) == tiny[graph][node]["text"]
                checked += 1
    assert checked == 11 + 8 + 6


def same(text: str, expected: str | dict[str, Any]) -> bool:
    if isinstance(expected, str):
        return text == expected
    digest = hashlib.sha256(text.encode()).hexdigest()
    return expected == {"length": len(text), "sha256": digest}


@pytest.mark.parametrize(("graph", "number"), cases())
def test_text_is_the_packages_byte_for_byte(graph: str, number: int) -> None:
    node, module = recorded(graph)["nodes"][number], MODULES[graph]
    text = module.document(node["info"], node["type"])
    assert same(text, node["text"])
    relations = relations_of(graph, node)
    assert module.relations_text(relations, node["type"]) == node["relations"]
    paper = module.document(node["info"], node["type"], version="paper")
    assert same(paper, node.get("paper_text", node["text"]))


def test_what_the_package_cannot_print_is_left_out() -> None:
    """One line of ours for each record on which ``get_doc_info`` raises."""
    texts = {
        (graph, node["info"].get("name", node["info"].get("title"))): module.document(
            node["info"], node["type"]
        )
        for graph, module in MODULES.items()
        for node in recorded(graph)["nodes"]
        if "raises" in node
    }
    assert len(texts) == 6 + 3 + 8
    gene = "- type: gene/protein\n- source: NCBI\n- details:\n"
    interpro = "  - interpro (protein family and classification information): "
    assert texts["prime", "BAD1"] == (
        f"- name: BAD1\n{gene}{interpro}[]\n  - summary (protein summary text): kept\n"
    )
    assert texts["prime", "BAD2"] == (
        f"- name: BAD2\n{gene}{interpro}['second']\n  - alias (other gene names): kept\n"
    )
    assert texts["prime", "BAD3"] == f"- name: BAD3\n{gene}  - name (gene name): kept\n"
    assert texts["prime", "BAD4"].endswith("  - generif (PubMed text): a lone note\n")
    assert texts["prime", "BAD5"].endswith("  - generif (PubMed text): one text\n")
    assert texts["prime", "nan"] == "- type: biological_process\n- source: GO\n"
    assert texts["mag", "No abstract"] == (
        " - paper title: No abstract\n - publication date: 2012-03-04\n - journal: Fold Letters\n"
    )
    assert texts["mag", "Bare record"] == (
        " - paper title: Bare record\n - abstract: Nothing else.\n"
    )
    assert texts["amazon", "Empty vote"].split("\n")[2:4] == ["#2:", "summary: good"]
    assert texts["amazon", "Odd description"].endswith("\n- description: kept\n")
    assert texts["amazon", "Odd features"].endswith("\n- features: \n#1: kept\n")
    assert texts["amazon", "No features"] == "- product: No features\n"
    assert texts["amazon", "Short review"].endswith('#1:\nsummary: None\ntext: "no summary"\n')
    assert texts["amazon", "Bare record"] == "- product: Bare record\n"


def test_fixtures_hold_every_branch_and_stay_small() -> None:
    for graph in MODULES:
        nodes = recorded(graph)["nodes"]
        assert [node["id"] for node in nodes] == list(range(len(nodes)))
        assert {node["type"] for node in nodes} == set(recorded(graph)["node_type_dict"].values())
        assert sum("text" in node for node in nodes) >= 20
        assert recorded(graph)["recorded_with"]["stark-qa"] == "1.1.0"
    assert any("paper_text" in node for node in recorded("amazon")["nodes"])
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 300_000


def test_equal_votes_keep_the_order_of_the_reviews() -> None:
    node = next(node for node in recorded("amazon")["nodes"] if "order" in node)
    blocks = node["text"].split("\n#")
    ours = documents_amazon.document(node["info"], "product").split("\n#")
    assert len(ours) == len(blocks) == 28
    votes = [review["vote"] for review in node["info"]["review"]]
    assert [by_votes(block, votes) for block in ours[1:]] == [
        by_votes(block, votes) for block in blocks[1:]
    ]
    places = [int(block.split(":")[0]) for block in ours[1:]]
    twelve = [place for place in places if votes[place - 1] == "12"]
    assert twelve == sorted(twelve) == places[: len(twelve)]


def by_votes(block: str, votes: list[Any]) -> str:
    return str(votes[int(block.split(":")[0]) - 1])


@pytest.mark.parametrize("graph", MODULES)
def test_unknown_version_or_quirks_say_what_there_is(graph: str) -> None:
    module = MODULES[graph]
    with pytest.raises(UserError, match=r"1\.1\.0"):
        module.document({}, "paper", version="1.1")
    with pytest.raises(UserError, match="did you mean official"):
        module.document({}, "paper", quirks="oficial")
    with pytest.raises(UserError, match="official"):
        module.relations_text({}, "paper", quirks="none")
    assert VERSIONS == ("1.1.0", "paper")
    assert QUIRKS == ("official", "fixed")
