"""Rebuild results/reference/example: four runs on the toy graph and their tables, without a key.

python scripts/example_tables.py

Tests hold its tables byte for byte. Times and the machine are left out of its results.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
EXAMPLE = REPOSITORY / "results/reference/example"
RUNS = (
    ("method=bm25",),
    ("method=string_match",),
    ("method=ark",),
    ("method=ark", "ablation=no_neighbors"),
)
TABLES = {
    "table.md": ("--format", "md"),
    "table.tex": ("--format", "tex"),
    "table.csv": ("--format", "csv"),
}
BASELINE = ("--baseline", "bm25")


def python(script: str, *arguments: str) -> str:
    """What a script of this repository prints."""
    command = [sys.executable, str(REPOSITORY / script), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout  # noqa: S603


def keep(result: Path) -> Path:
    """Copy what tables read of a run, without times and the machine."""
    run = result.parents[2]
    folder = EXAMPLE / "runs" / run.name / "readings" / result.parent.name
    folder.mkdir(parents=True)
    data = json.loads(result.read_text(encoding="utf-8"))
    for key in ("timings", "lost"):
        data.pop(key, None)
    data["environment"] = {"commit": data["environment"]["commit"]}
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    (folder / "result.json").write_text(text, encoding="utf-8")
    shutil.copyfile(result.with_name("per_query.csv"), folder / "per_query.csv")
    shutil.copyfile(run / "queries.jsonl", EXAMPLE / "runs" / run.name / "queries.jsonl")
    return folder


def main() -> None:
    """Run, copy, print the tables into their files."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as results:
        made = []
        for settings in RUNS:
            common = ("graph=toy", "split=all", f"results_dir={results}", "progress=false")
            last = python("run.py", *common, *settings).strip().splitlines()[-1]
            made.append(Path(last.removeprefix("result: ")))
        shutil.rmtree(EXAMPLE, ignore_errors=True)
        kept = [keep(result) for result in made]
    for name, options in TABLES.items():
        text = python("scripts/tables.py", str(EXAMPLE), *BASELINE, *options)
        (EXAMPLE / name).write_text(text, encoding="utf-8")
    text = python("scripts/compare.py", str(kept[2]), str(kept[1]), "--top", "5")
    (EXAMPLE / "compare.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
