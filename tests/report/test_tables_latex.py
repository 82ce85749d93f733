"""TeX that compiles, whatever strangers wrote."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import ark, write

from ark.report import Options, result_table
from ark.report.cells import find, load_all
from ark.report.latex import escape

ODD = "100% of_it & {more} #1 $x^2$ ~ \\end{tabular} <b> 中 é “q” \u2028 ▲"
_ALLOWED = re.compile(
    r"\\(?:textbackslash|textasciitilde|textasciicircum|ldots|ss|ae|AE|o|O|oe|OE|l|L|copyright|S)\{\}"
    r"|\\[`'^~=u.\"rHvc]\{[A-Za-z]\}"
    r"|\$(?:<|>|\||-|\\(?:cdot|times|pm|leq|geq|uparrow|downarrow))\$|\\[#$%&_{}]"
)


@pytest.fixture
def text(tmp_path: Path) -> str:
    write(tmp_path, [0.0] * 18 + [1.0] * 2, method=ODD)
    write(tmp_path, [0.0] * 17 + [1.0] * 3, method="[first] method")
    ark(tmp_path, [1.0] * 18 + [0.0] * 2, changed={"prompt": "a_b%.txt"})
    ark(tmp_path, [1.0] * 18 + [0.0] * 2, model="openai/gpt-4.1_x", changed={"prompt": "a_b%.txt"})
    options = Options(baseline="[first] method", reference="published")
    return result_table(load_all(find([tmp_path])), options, "tex")


@given(st.text(max_size=40))
def test_escaped_text_holds_no_command(text: str) -> None:
    rest = _ALLOWED.sub("", escape(text))
    assert not re.search(r"[\\{}$%#&_^~]", rest)
    assert escape(text).isascii()
    assert escape(text).isprintable()


def test_letters_stay_readable() -> None:
    assert escape("Čapek, Åse, naïve, Straße, Łódź") == (
        r"\v{C}apek, \r{A}se, na\"{i}ve, Stra\ss{}e, \L{}\'{o}d\'{z}"
    )
    assert escape("ﬁ Å½ 中") == r"fi \r{A}[U+00BD] [U+4E2D]"


def test_the_table_is_well_formed(text: str) -> None:
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    (columns,) = set(re.findall(r"\\begin\{tabular\}\{(l+)\}", text.split(r"\medskip")[0]))
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
    for row in body.strip().splitlines():
        assert row.endswith(r"\\")
        assert len(re.findall(r"(?<!\\)&", row)) == len(columns) - 1
        assert not row.startswith(("[", "*"))
    assert r"\textbf{90.0}" in text
    assert r"$^{\uparrow}$" in text
    assert r"100\% of\_it \& \{more\}" in text


def test_it_compiles(text: str, tmp_path: Path) -> None:
    program = shutil.which("pdflatex") or shutil.which("tectonic")
    if program is None:
        pytest.skip("no TeX is installed")
    document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
    (tmp_path / "t.tex").write_text(document + text + "\\end{document}\n", encoding="utf-8")
    more = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in program else []
    subprocess.run([program, *more, "t.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_markdown_keeps_strangers_text_in_its_cell(tmp_path: Path) -> None:
    write(tmp_path, [1.0, 0.0] * 10, method="a | b <img src=x> *c* `d`\n| e [l](http://x)")
    made = result_table(load_all(find([tmp_path])), Options(), "md")
    (row,) = [x for x in made.splitlines() if x.startswith("| a ")]
    assert r"a \| b \<img src=x> \*c\* \`d\` \| e [l]\(http://x)" in row
    head = made.splitlines()[0]
    assert len(re.findall(r"(?<!\\)\|", row)) == len(re.findall(r"(?<!\\)\|", head))
