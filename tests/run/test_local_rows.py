"""Rows of ``backbone=local``: settings that are no defaults stand in the row of a whole run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ark.cli.compose import compose_one
from ark.records import Json
from ark.report.verify_settings import check_changed
from ark.run import run_cell


class Engine:
    """Answers as llama.cpp does, always with the same call."""

    async def chat(self, request: Mapping[str, Json]) -> dict[str, Json]:
        said = json.dumps({"name": "search_in_graph", "arguments": {"query": "moth"}})
        message = {"role": "assistant", "content": said}
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ([], {}),
        (["backbone.threads=1"], {}),
        (["backbone.state_schema=false"], {"backbone.state_schema": False}),
        (
            ["backbone.temperature=0.5", "backbone.context=4096"],
            {"backbone.temperature": 0.5, "backbone.context": 4096},
        ),
    ],
)
def test_a_row_names_what_is_no_default(
    given: list[str],
    shown: dict[str, Json],
    tmp_path: Path,
    data_root_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.setattr("ark.backbone.local.engine_for", lambda *_: Engine())
    (tmp_path / "tiny.gguf").write_bytes(b"no weights")
    words = ["graph=toy", "split=all", "limit=2", "backbone=local", "method.agents=1"]
    words += [f"backbone.model_path={tmp_path / 'tiny.gguf'}", "method.max_steps=2", *given]
    job = compose_one(words)
    done = run_cell(job.spec, replace(job.transport, results_dir=tmp_path / "r", progress=False))
    cell = json.loads(done.path.read_text(encoding="utf-8"))["cell"]
    assert cell["changed"] == {"max_steps": 2, **shown}
    assert done.data["usage"]["calls"] == 4  # the backbone was asked, through the cache
    run = json.loads((done.path.parents[2] / "run.json").read_text(encoding="utf-8"))
    check_changed("result.json", run, cell)
