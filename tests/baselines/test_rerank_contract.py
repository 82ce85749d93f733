"""A reranked method is a method: the contract of all, over one that asks a model and one not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contracts"))

from test_method_contract import MethodContract, Preset, preset_of

from ark.run.spec import Reading
from baselines.rerank import Listwise, Pointwise


class TestReranked(MethodContract):
    """Two agents of ARK, whose lists are fused, and the one list of BM25."""

    @pytest.fixture(
        params=[
            ("ark", Listwise()),
            ("ark", Pointwise(reverse=True)),
            ("bm25", Listwise(reverse=True)),
            ("bm25", Pointwise()),
        ],
        ids=lambda p: f"{p[1].name} over {p[0]}",
    )
    def preset(self, request: pytest.FixtureRequest) -> Preset:
        name, reranker = request.param
        settings = {
            "method": preset_of(name).make(),
            "reranker": reranker,
            "reading": Reading(agents=2 if name == "ark" else 1, backfill="bm25"),
            "candidate_types": None,
            "seed": 0,
            "repeat": 0,
        }
        return Preset("ark.run.reranked:Reranked", settings)
