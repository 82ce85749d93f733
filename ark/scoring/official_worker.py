"""Asks stark-qa's own evaluator; run by the interpreter of another environment, by its path.

``python official_worker.py REQUEST`` answers with one JSON line for the versions and one for each
question. It imports nothing of this package. ``evaluator.py`` is loaded by itself: importing
``stark_qa`` as a whole takes 170 further packages.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import platform
import sys
from pathlib import Path
from typing import Any, TextIO


def load_evaluator() -> Any:
    """The class ``Evaluator`` of the installed stark-qa, without its package's imports."""
    package = importlib.util.find_spec("stark_qa")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'stark_qa'")
    file = Path(package.submodule_search_locations[0]) / "evaluator.py"
    spec = importlib.util.spec_from_file_location("stark_qa_evaluator", file)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no {file}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Evaluator


def versions() -> dict[str, str]:
    """Of everything that a value may depend on."""
    packages = ("stark-qa", "torch", "torchmetrics", "numpy")
    found = {name: importlib.metadata.version(name) for name in packages}
    return {**found, "python": platform.python_version()}


def main(arguments: list[str], answers: TextIO) -> None:
    """Answer every question of the request file."""
    request = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    evaluator = load_evaluator()
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)  # the sorts are small: two threads take six times as long
    say(answers, {"versions": versions()})
    made = {name: evaluator(ids) for name, ids in request["candidates"].items()}
    for question in request["questions"]:
        scores = dict(zip(question["nodes"], question["scores"], strict=True))
        gold = torch.LongTensor(question["gold"])
        values = made[question["candidates"]](scores, gold, request["measures"])
        say(answers, {"number": question["number"], "values": values})
    say(answers, {"done": len(request["questions"])})


def say(answers: TextIO, line: dict[str, Any]) -> None:
    """One line, at once."""
    answers.write(json.dumps(line) + "\n")
    answers.flush()


if __name__ == "__main__":
    protocol, sys.stdout = sys.stdout, sys.stderr  # whatever libraries print is no answer
    main(sys.argv[1:], protocol)
