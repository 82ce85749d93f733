"""Commands in the docs are commands that work: each one composes, each script has its options."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ark.cli.console import jobs_of

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"```(?:bash|sh)\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def commands() -> list[str]:
    out = []
    for page in PAGES:
        for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
            lines = block.replace("\\\n", " ").splitlines()
            out += [f"{page.name}: {x.split(' #')[0].strip()}" for x in lines if x.strip()]
    return out


def runs() -> list[str]:
    found = [c for c in commands() if "run.py" in c]
    assert len(found) > 8
    return found


@pytest.mark.parametrize("command", runs())
def test_every_run_command_composes(command: str) -> None:
    words = shlex.split(command[command.index("run.py") :])[1:]
    words = words[: words.index("&&")] if "&&" in words else words
    if "--help" in words:
        return
    jobs, _, _ = jobs_of(words)
    assert len(jobs) > 1 or "-m" not in words or any("experiment=" in w for w in words)


@pytest.mark.parametrize(
    "script", sorted((REPOSITORY / "scripts").glob("*.py")), ids=lambda p: p.name
)
def test_every_script_is_documented_and_imports(script: Path) -> None:
    pages = "\n".join(p.read_text(encoding="utf-8") for p in PAGES)
    assert f"scripts/{script.name}" in pages
    code = f"import runpy; runpy.run_path({str(script)!r}, run_name='imported')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in _LINK.findall(page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_holds_the_command_that_ci_runs() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^python3\.11 -m venv .* -m pytest$", text, re.MULTILINE)
    assert len(found) == 1
