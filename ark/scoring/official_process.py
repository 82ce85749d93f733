"""The other environment as a process: a request file in, JSON lines out. Nothing is pickled."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TypedDict

from ark.errors import UserError
from ark.records import Json

WORKER = Path(__file__).with_name("official_worker.py")
BUILD = "python scripts/official_env.py"
_SHOWN = 160  # characters of a strange answer
Values = dict[str, float]


class Question(TypedDict):
    """What the worker is asked, once for each number."""

    number: int
    candidates: str
    nodes: list[int]
    scores: list[float]
    gold: list[int]


def interpreter(environment: Path) -> Path:
    """The Python of an environment. UserError with the command that builds one."""
    for name in ("bin/python", "Scripts/python.exe"):
        if (Path(environment) / name).is_file():
            return (Path(environment) / name).absolute()
    raise UserError(f"official={environment}: no Python environment there; {BUILD} {environment}")


def ask(
    environment: Path,
    measures: Sequence[str],
    candidates: Mapping[str, Sequence[int]],
    questions: Sequence[Question],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, str], dict[int, Values]]:
    """Versions, and the values of every question by its number.

    Raises UserError, in one line, where the process cannot be started, ends early or answers
    what is no answer.
    """
    python = interpreter(environment)
    with tempfile.TemporaryDirectory(prefix="ark-official-") as folder:
        request = Path(folder) / "request.json"
        request.write_text(
            json.dumps(
                {
                    "measures": list(measures),
                    "candidates": {name: list(rows) for name, rows in candidates.items()},
                    "questions": list(questions),
                }
            ),
            encoding="utf-8",
        )
        with (Path(folder) / "errors.txt").open("w+", encoding="utf-8", errors="replace") as errors:
            try:
                process = subprocess.Popen(  # noqa: S603 (our worker, the user's own environment)
                    [str(python), "-I", str(WORKER), str(request)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    encoding="utf-8",
                    errors="replace",
                )
            except OSError as error:
                raise UserError(
                    f"official={environment}: {python} does not start ({error})"
                ) from None
            with process:
                try:
                    return _answers(process, environment, measures, questions, errors, progress)
                finally:
                    process.kill()


def _answers(
    process: subprocess.Popen[str],
    environment: Path,
    measures: Sequence[str],
    questions: Sequence[Question],
    errors: IO[str],
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, str], dict[int, Values]]:
    assert process.stdout is not None
    wanted = {question["number"] for question in questions}
    versions: dict[str, str] = {}
    found: dict[int, Values] = {}
    done = False
    for text in process.stdout:
        try:
            line = _line(text)
            if "versions" in line:
                versions = {str(k): str(v) for k, v in line["versions"].items()}
            elif "done" in line:
                done = True
            else:
                number = int(line["number"])
                if number not in wanted:
                    raise ValueError("no such question")
                found[number] = _values(line["values"], measures)
                if progress is not None:
                    progress(len(found), len(wanted))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UserError(
                f"official={environment}: its evaluator answered {text.strip()[:_SHOWN]!r}; build "
                f"the environment anew: {BUILD} DIR"
            ) from None
    code = process.wait()
    if code or not done or len(found) < len(wanted) or not _complete(versions):
        raise UserError(_ended(environment, code, len(found), len(wanted), _last_line(errors)))
    return versions, found


def _line(text: str) -> dict[str, Json]:
    line = json.loads(text)
    if not isinstance(line, dict):
        raise TypeError("no object")
    return line


def _values(found: Mapping[str, Json], measures: Iterable[str]) -> Values:
    values = {measure: float(found[measure]) for measure in measures}
    if not all(0 <= value <= 1 for value in values.values()):  # false for NaN too
        raise ValueError("no measure")
    return values


def _complete(versions: Mapping[str, str]) -> bool:
    return {"stark-qa", "torch", "torchmetrics"} <= versions.keys()


def _ended(environment: Path, code: int, found: int, wanted: int, said: str) -> str:
    reason = f": {said}" if said else ""
    return (
        f"official={environment}: its evaluator ended with code {code} after {found} of {wanted} "
        f"answers{reason}; build the environment anew: {BUILD} DIR"
    )


def _last_line(errors: IO[str]) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors.read().split("\n") if line.strip()]
    return lines[-1][:_SHOWN] if lines else ""
