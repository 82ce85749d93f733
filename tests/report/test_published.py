"""Published numbers stand beside rows that they belong to, and beside no other."""

from __future__ import annotations

from typing import Any

import pytest

from ark.report import footer
from ark.report.reference import REFERENCE, published


def row(**cell: Any) -> dict[str, Any]:
    stark = {"tokenizer": "bm25s", "documents": "text"}
    values = {
        "graph": "prime",
        "split": "test",
        "method": "BM25",
        "backbone": None,
        "candidates": "graph",
        "credit": "",
        "identity": {"search": cell.pop("search", stark)},
        "reading": {"cut": cell.pop("cut", 100)},
    }
    return {"cell": {**values, **cell}, "measures": {}, "counts": {}}


def lines(**cell: Any) -> list[str]:
    return [x for x in footer([row(**cell)]).splitlines() if x.startswith("Published")]


def test_bm25_on_stark_has_its_published_row() -> None:
    assert lines() == [
        "Published BM25 on prime test: Hit@1 12.75, Hit@5 27.92, Recall@20 31.25, MRR 19.84; "
        "n 2801 (STaRK paper, tables 6-7)."
    ]
    (tenth,) = lines(graph="mag", split="test-0.1")
    assert "Hit@1 27.81" in tenth
    assert "n 266 " in tenth


def test_what_is_unlike_is_said() -> None:
    (text,) = lines(search={"k1": 1.2}, cut=20)
    assert text.endswith(
        "; its index is search=stark, not this one; its MRR is of 100 ranks, cut=100."
    )


@pytest.mark.parametrize(
    "cell", [{"graph": "hpo"}, {"method": "BM25 + relations"}, {"split": "val"}]
)
def test_no_other_row_has_one(cell: dict[str, Any]) -> None:
    assert lines(**cell) == []


def test_two_rows_of_one_cell_share_a_line() -> None:
    text = footer([row(), row(cut=20), row()])
    assert text.count("Published") == 2


def test_the_impossible_value_is_left_out() -> None:
    found = published("amazon", "human")
    assert found is not None
    assert found.values == {"hit@1": 27.16, "hit@5": 51.85, "recall@20": 29.23}
    (text,) = lines(graph="amazon", split="human")
    assert "MRR left out as impossible" in text
    assert "18.79" not in text


def test_the_values_are_possible() -> None:
    """Specification, 5.2: MRR lies between what Hit@1 and Hit@5 allow, in 100 ranks or fewer."""
    assert REFERENCE.is_file()
    for graph in ("amazon", "mag", "prime"):
        for split in ("test", "test-0.1", "human"):
            found = published(graph, split)
            assert found is not None
            if "mrr" in found.values:
                h1, h5, mrr = (found.values[m] for m in ("hit@1", "hit@5", "mrr"))
                assert h1 + (h5 - h1) / 5 <= mrr <= h1 + (h5 - h1) / 2 + (100 - h5) / 6
