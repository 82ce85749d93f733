"""Ours and the peers' times at STaRK's size, on invented graphs: python scripts/bench_stark.py.

--env DIR names an environment with torch, torchmetrics, torch_geometric and stark-qa that
scripts/official_env.py made. --work DIR keeps what was built, and the numbers of building it;
everything else is measured anew. A full run needs about 10 GB of disk, 7 GB of memory and half an
hour.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ark.scoring.official_process import interpreter

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))  # for those who import this file by its path
from stark_bench import jobs, made, runs  # noqa: E402

PEER = HERE.parent / "stark_bench" / "peer.py"
WORKER = HERE.parents[1] / "ark" / "scoring" / "official_worker.py"
ABSENT = "not installed"
GRAPHS = ("prime", "mag", "amazon")
STEPS = tuple(f"{step}-{name}" for step in ("folder", "convert") for name in GRAPHS)
BUILT = ("build", "index", "questions", "candidates-mag", "candidates-amazon", *STEPS)
Numbers = dict[str, Any]
Row = tuple[str, str, str, str, str, str]


class Bench:
    """Runs each job in a process of its own and keeps its numbers."""

    def __init__(self, work: Path, scale: float, env: Path | None, *, numba: bool) -> None:
        self.work, self.scale, self.env, self.numba = work, scale, env, numba
        self._kept = work / f"numbers-{scale}.json"
        kept = self._kept.is_file()
        self._numbers: dict[str, Numbers] = json.loads(self._kept.read_text()) if kept else {}

    def job(self, name: str, *arguments: str) -> Numbers:
        """Our side. What builds is done once a work folder."""
        key = "-".join((name, *arguments))
        if key in BUILT and key in self._numbers:
            return self._numbers[key]
        given = [str(HERE), "--work", str(self.work), "--scale", str(self.scale)]
        found = _last([sys.executable, *given, "--job", name, *arguments])
        if key in BUILT:
            self._numbers[key] = found | {"date": _today()}
            self._kept.write_text(json.dumps(self._numbers, indent=1) + "\n", encoding="utf-8")
        return found

    def peer(self, name: str, **request: Any) -> Numbers:
        """Their side, empty where it is not installed."""
        if self.env is None:
            return {}
        file = self.work / "request.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        command = [str(interpreter(self.env)), "-I", str(PEER), name, str(file)]
        try:
            return _last(command)
        except subprocess.CalledProcessError as error:
            sys.stderr.write(f"peer {name} failed: {error}\n")
            return {}


def _last(command: list[str]) -> Numbers:
    """The JSON on the last line that a process writes."""
    sys.stderr.write(f"{datetime.now(UTC):%H:%M:%S} {' '.join(command[-3:])}\n")
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        sys.stderr.write(done.stderr[-2_000:])
        done.check_returncode()
    found: Numbers = json.loads(done.stdout.splitlines()[-1])
    return found


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def shown(ms: float | None) -> str:
    """Milliseconds in a fitting unit."""
    if ms is None:
        return ABSENT
    if ms < 1:
        return f"{ms * 1000:.3g} µs"
    if ms < 1000:
        return f"{ms:.3g} ms"
    return f"{ms / 1000:.3g} s" if ms < 1e6 else f"{ms / 1000:,.0f} s"


def row(
    what: str, theirs: float | None, ours: float, limit: float | None, *, note: str = ""
) -> Row:
    """One line in milliseconds; the ratio is theirs by ours."""
    ratio = "" if theirs is None else f"{theirs / ours:.3g}"
    peer = note if theirs is None and note else shown(theirs)
    return (what, peer, shown(ours), ratio, *_verdict(ours, limit, shown))


def megabytes(what: str, theirs: float | None, ours: float, limit: float | None) -> Row:
    """One line in MB."""
    ratio = "" if theirs is None else f"{theirs / ours:.3g}"
    peer = "–" if theirs is None else _mb(theirs)
    return (what, peer, _mb(ours), ratio, *_verdict(ours, limit, _mb))


def _mb(value: float) -> str:
    return f"{value:,.0f} MB"


def _verdict(ours: float, limit: float | None, show: Any) -> tuple[str, str]:
    if limit is None:
        return "", ""
    return f"< {show(limit)}", "yes" if ours < limit else "MISSED"


def scoring(bench: Bench) -> list[Row]:
    """One query with 957,192 candidates, whatever the scale of the rest."""
    ranked, gold = jobs.ranking()
    theirs = bench.peer(
        "score", worker=str(WORKER), candidates=jobs.CANDIDATES, ranked=ranked, gold=gold
    )
    ours = bench.job("score")
    if theirs:
        for name, value in theirs["values"].items():
            assert abs(value - ours["values"][name]) < 1e-6, name
    what = f"score one query, {jobs.CANDIDATES:,} candidates, 4 measures"
    return [row(what, theirs.get("ms"), ours["ms"], 0.1)]


def graph(bench: Bench) -> list[Row]:
    """Neighbours, opening and memory."""
    size = made.Size("mag", bench.scale)
    folder = str(jobs.folder_of(bench.work, bench.scale))
    theirs = bench.peer(
        "neighbours", folder=folder, relations=4, nodes=jobs.nodes_of(size, 15), hub=size.hub
    )
    near = bench.job("neighbours")
    opened, both = bench.job("open_graph"), bench.job("open_both")
    built = bench.job("build")
    loaded = f", {theirs['edges']:,} as stark-qa loads them" if theirs else ""
    name = f"{built['nodes']:,} nodes, {built['edges']:,} stored edges{loaded}"
    seconds = theirs.get("seconds")
    return [
        row("neighbours of a node, p50", theirs.get("ms"), near["p50_ms"], 0.03),
        row(
            "neighbours of a node, p99 (peer: worst)",
            theirs.get("worst_ms"),
            near["p99_ms"],
            1,
        ),
        row(f"neighbours of a hub of {near['hub']:,}", theirs.get("hub_ms"), near["hub_ms"], 5),
        row(
            f"open {name}",
            None if seconds is None else seconds * 1000,
            opened["seconds"] * 1000,
            1000,
        ),
        megabytes(
            "– RssAnon after 1,000 tool calls, graph alone",
            theirs.get("held_mb"),
            opened["anon_mb"],
            400,
        ),
        megabytes("– mapped pages (RssFile) then", None, opened["mapped_mb"], None),
        megabytes(
            "– RssAnon after 1,000 tool calls with the BM25 index, 200 of them searches",
            None,
            both["anon_mb"],
            400,
        ),
        megabytes("– mapped pages (RssFile) then", None, both["mapped_mb"], None),
        row(
            "one of these tool calls, mean",
            None,
            both["calls_seconds"] * 1000 / 1000,
            None,
            note="–",
        ),
    ]


def converting(bench: Bench, names: list[str]) -> list[Row]:
    """Official folders to the store."""
    rows = []
    for name in names:
        bench.job("folder", name)
        found = bench.job("convert", name)
        if name == "amazon":
            rows += extrapolated(bench, found)
            continue
        what = f"convert {name.upper()}, {found['nodes']:,} nodes, {found['edges']:,} edges"
        limits = {"prime": (120_000, None), "mag": (600_000, 8192)}[name]
        rows.append(row(what, None, found["seconds"] * 1000, limits[0], note="–"))
        rows.append(megabytes("– peak resident set", None, found["peak_mb"], limits[1]))
    return rows


def extrapolated(bench: Bench, converted: Numbers) -> list[Row]:
    """AMAZON at a tenth: what was measured, and ten times as much for the whole graph."""
    indexed, part, times = bench.job("candidates", "amazon"), f"{runs.TENTH:g}", 1 / runs.TENTH
    size = f"{converted['nodes']:,} nodes, {converted['edges']:,} edges"
    named = (
        (f"convert AMAZON at {part} of its size, {size}", converted),
        (f"BM25 index over {part} of AMAZON's products, {indexed['documents']:,}", indexed),
    )
    rows = []
    for what, found in named:
        ms, peak = found["seconds"] * 1000, found["peak_mb"]
        rows.append(row(what, None, ms, None, note="–"))
        rows.append(row("– the whole, extrapolated: ten times", None, ms * times, None, note="–"))
        rows.append(megabytes("– peak resident set", None, peak, None))
        rows.append(megabytes("– of the whole, extrapolated: ten times", None, peak * times, None))
    return rows


def running(bench: Bench) -> list[Row]:
    """MAG's test split through ``run.py``; the peer's scoring alone beside it."""
    bench.job("questions")
    built, found = bench.job("candidates", "mag"), bench.job("run")
    assert found["ok"] == found["questions"]
    ranked, gold = jobs.ranking(built["documents"])
    theirs = bench.peer(
        "score", worker=str(WORKER), candidates=built["documents"], ranked=ranked, gold=gold
    )
    alone = theirs["ms"] * found["questions"] if theirs else None
    papers, asked = f"{built['documents']:,} papers", f"{found['questions']:,} questions"
    limit = 60_000
    return [
        row(f"BM25 index over {papers} alone", None, built["seconds"] * 1000, 600_000, note="–"),
        megabytes("– peak resident set", None, built["peak_mb"], 8192),
        row(
            f"run.py graph=mag method=bm25 search=stark, {asked} "
            "(peer: its evaluator alone, a call times the questions)",
            alone,
            found["seconds"] * 1000,
            limit,
        ),
        row("– CPU time of that", None, found["cpu_seconds"] * 1000, None, note="–"),
    ]


def searching(bench: Bench) -> list[Row]:
    """BM25: building, asking, the first answer, a whole split."""
    built, found = bench.job("index"), bench.job("search", *(["numba"] if bench.numba else []))
    first, split = bench.job("first"), bench.job("split")
    ours, numba = found["ours"], found.get("numba", {}).get("ms")
    limit = None if numba is None else numba * 1.1
    total = first["process_s"] * 1000
    opening = (first["open_s"] + first["answer_s"]) * 1000
    documents = f"{built['documents']:,} documents"
    return [
        row(f"BM25 index over {documents}", None, built["seconds"] * 1000, 600_000, note="–"),
        row("– CPU time of that", None, built["cpu_seconds"] * 1000, None, note="–"),
        megabytes("– peak resident set", None, built["peak_mb"], 8192),
        megabytes("– on disk", None, built["stored_mb"], None),
        row(f"BM25 query, 100 of {documents}, bm25s numpy", found["numpy"]["ms"], ours["ms"], None),
        row(f"BM25 query, 100 of {documents}, bm25s numba", numba, ours["ms"], limit),
        row("first answer, imports done: open both, ask", None, opening, 200, note="–"),
        row("first answer, from the start of the process", None, total, None, note="–"),
        row(
            f"{split['questions']:,} questions: BM25 and scoring",
            None,
            split["seconds"] * 1000,
            60_000,
            note="–",
        ),
    ]


def table(rows: list[Row]) -> str:
    """Markdown."""
    head = ("what", "peer", "ours", "peer / ours", "target", "reached")
    lines = [head, ("---", "---:", "---:", "---:", "---:", "---"), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def measure(bench: Bench, names: list[str]) -> None:
    """Everything, then the table."""
    start = time.perf_counter()
    bench.work.mkdir(parents=True, exist_ok=True)
    bench.job("build")
    bench.job("index")
    rows = [*scoring(bench), *graph(bench), *converting(bench, names), *searching(bench)]
    rows += running(bench) if "mag" in names else []
    print(table(rows))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"\n{_today()}, scale {bench.scale:g}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, load averages {load} at the end, "
        f"{time.perf_counter() - start:.0f} s"
    )


def main() -> int:
    """Measure in a kept or a temporary folder, or run one job for another process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", type=Path, metavar="DIR", help="the peer's environment")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep what is built there")
    parser.add_argument("--scale", type=float, default=1.0, help="of the official counts")
    parser.add_argument(
        "--no-numba", action="store_true", help="leave out bm25s' numba, which compiles for seconds"
    )
    parser.add_argument(
        "--convert", default=",".join(GRAPHS), help="of prime, mag (and its run) and amazon"
    )
    parser.add_argument("--job", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        runs.main(options.job[0], options.work, options.scale, options.job[1:])
        return 0
    names = options.convert.split(",")
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        measure(Bench(work, options.scale, options.env, numba=not options.no_numba), names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
