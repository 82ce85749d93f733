"""Build an environment with STaRK's own evaluator: python scripts/official_env.py DIR.

It holds torch, torchmetrics and stark-qa (without its 170 further packages) and is used from
outside: python run.py ... official=DIR, or scripts/official_check.py. torch_geometric and tqdm are
for stark-qa's graph class, which only scripts/bench_stark.py asks. About 1 GB and one to five
minutes with torch's CPU wheel; where pip would take a wheel with CUDA (Linux), give
--torch-index https://download.pytorch.org/whl/cpu, or expect several GB.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

from ark.errors import UserError
from ark.scoring.official_process import Question, ask, interpreter

TORCH, TORCHMETRICS, STARK_QA = "2.13.0", "1.9.0", "1.1.0"
GRAPH_CLASS = ("torch_geometric==2.8.1", "tqdm==4.70.1")
PEER = Path(__file__).resolve().parent / "stark_bench" / "peer.py"
EXPECTED = "about 1 GB, one to five minutes; several GB where torch comes with CUDA"


def install(python: Path, *arguments: str) -> None:
    """``pip install`` in the environment, its output shown."""
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    print(f"+ pip install {' '.join(arguments)}", flush=True)
    if subprocess.run(command, check=False).returncode:  # noqa: S603 (fixed words and versions)
        raise UserError(f"pip install {' '.join(arguments)} failed; its own words stand above")


def build(folder: Path, torch: str, torchmetrics: str, index: str | None) -> None:
    """A new environment in ``folder``; nothing stays of one that could not be finished."""
    existed = folder.exists()
    if existed and any(folder.iterdir()):
        raise UserError(f"{folder} is not empty and no environment: give a new folder")
    try:
        venv.create(folder, with_pip=True, symlinks=os.name == "posix")
        python = interpreter(folder)
        extra = [] if index is None else ["--extra-index-url", index]
        install(python, f"torch=={torch}", f"torchmetrics=={torchmetrics}", "numpy", *extra)
        install(python, *GRAPH_CLASS, *extra)
        install(python, "--no-deps", f"stark-qa=={STARK_QA}")
        check(folder)
        if not has_graph_class(folder):
            raise UserError(f"stark-qa's graph class does not answer in {folder}; see above")
    except BaseException:  # an interruption too
        shutil.rmtree(folder, ignore_errors=True)
        if existed:
            folder.mkdir()
        raise


def check(folder: Path) -> dict[str, str]:
    """Ask its evaluator one question. Returns the versions; UserError where it does not answer."""
    question = Question(number=0, candidates="all", nodes=[1], scores=[1.0], gold=[1])
    versions, answers = ask(folder, ["hit@1"], {"all": [0, 1]}, [question])
    if answers[0]["hit@1"] != 1.0:
        raise UserError(f"the evaluator in {folder} says {answers[0]} where hit@1 is 1")
    return versions


def has_graph_class(folder: Path) -> bool:
    """Whether stark-qa's graph class finds the neighbour of a node there; its words are shown."""
    command = [str(interpreter(folder)), "-I", "-W", "ignore", str(PEER), "graph_class"]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # noqa: S603 (our file)
    return done.returncode == 0


def main() -> int:
    """Build or check, say what is there, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--torch", default=TORCH, metavar="VERSION")
    parser.add_argument("--torchmetrics", default=TORCHMETRICS, metavar="VERSION")
    parser.add_argument("--torch-index", metavar="URL", help="a further package index, for torch")
    options = parser.parse_args()
    started = time.monotonic()
    try:
        if not (options.folder / "pyvenv.cfg").is_file():
            print(f"building {options.folder}: {EXPECTED}", flush=True)
            build(options.folder, options.torch, options.torchmetrics, options.torch_index)
        versions, graph_class = check(options.folder), has_graph_class(options.folder)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    size = sum(f.stat().st_size for f in options.folder.rglob("*") if not f.is_symlink())
    found = ", ".join(f"{name} {version}" for name, version in versions.items())
    print(f"ready: {found}; {size / 2**20:.0f} MB, {time.monotonic() - started:.0f} s")
    print(f"use it: python run.py graph=prime method=bm25 official={options.folder}")
    if not graph_class:  # built before this script installed it: enough for the evaluator
        packages = " ".join(GRAPH_CLASS)
        python = interpreter(options.folder)
        print(f"no graph class for bench_stark.py: {python} -m pip install {packages}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
