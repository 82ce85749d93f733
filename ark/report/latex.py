r"""A sheet as TeX: a ``tabular`` with booktabs' rules, and the notes below it.

What comes out goes into a document as it is: it needs ``\usepackage{booktabs}`` and nothing else
(lines between columns, colours and rotated heads are left to whoever typesets it).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from ark.report.names import title
from ark.report.notes import lines
from ark.report.sheet import Sheet
from ark.report.shown import Printed, Shown, printed
from ark.text import one_line

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "·": r"$\cdot$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "−": r"$-$",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "▲": r"$\uparrow$",
    "▼": r"$\downarrow$",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "©": r"\copyright{}",
    "§": r"\S{}",
    **{c: f"\\{c}" for c in "#$%&_{}"},
}
_ACCENTS = {  # combining characters as commands that every font encoding has
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0327": "c",
}
_ARROWS = {1: r"$^{\uparrow}$", -1: r"$^{\downarrow}$", 0: ""}


def escape(text: str) -> str:
    """Strangers' text for TeX: nothing of it is a command, and every character can be set."""
    return "".join(map(_character, one_line(text)))


def _character(c: str) -> str:
    if c in _ESCAPES:
        return _ESCAPES[c]
    if c.isascii():
        return c
    parts = unicodedata.normalize("NFD", c)
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in _ACCENTS:
        return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    plain = unicodedata.normalize("NFKD", c)
    return plain if plain.isascii() and plain.isalnum() else f"[U+{ord(c):04X}]"


def to_latex(sheet: Sheet) -> str:
    """The table, the smaller tables below it and the notes."""
    table = printed(sheet)
    parts = [r"% needs \usepackage{booktabs}", _table(table)]
    for small in table.further:
        parts += [r"\medskip", _small(small)]
    keyed = [f"$^{{{key}}}$ {escape(text)}" for text, key in table.notes.texts.items()]
    said = [*map(escape, lines(sheet)), *keyed]
    notes = "\\par\n".join(f"\\noindent {line}" for line in said)
    parts += [r"\medskip", f"{{\\footnotesize\n{notes}\\par\n}}"]
    return "\n\n".join(parts)


def _table(table: Printed) -> str:
    lead, width = len(table.lead), len(table.measures)
    groups = [f"\\multicolumn{{{width}}}{{c}}{{{escape(c.label)}}}" for c in table.groups]
    rules = [
        f"\\cmidrule(lr){{{lead + 1 + k * width}-{lead + (k + 1) * width}}}"
        for k in range(len(table.groups))
    ]
    heads = [*map(escape, table.lead), *(escape(title(m)) for m in table.measures)]
    heads = [*heads[:lead], *heads[lead:] * len(table.groups)]
    body = [_row([*map(escape, x.lead), *map(_cell, x.cells)]) for x in table.lines]
    return "\n".join(
        [
            f"\\begin{{tabular}}{{{'l' * lead}{'l' * width * len(table.groups)}}}",
            r"\toprule",
            _row([*[""] * lead, *groups]),
            "".join(rules),
            _row(heads),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _cell(shown: Shown) -> str:
    value = escape(shown.value)
    value = {1: f"\\textbf{{{value}}}", 2: f"\\textit{{{value}}}"}.get(shown.best, value)
    marks = [*([shown.confidence] if shown.confidence else []), *shown.notes]
    raised = f"$^{{\\mathrm{{{','.join(map(escape, marks))}}}}}$" if marks else ""
    interval = f" {{\\scriptsize {escape(shown.interval)}}}" if shown.interval else ""
    return value + interval + _ARROWS[shown.arrow] + raised


def _small(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join(
        [
            f"\\begin{{tabular}}{{{'l' * len(head)}}}",
            r"\toprule",
            _row(list(map(escape, head))),
            r"\midrule",
            *(_row(list(map(escape, row))) for row in rest),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _row(cells: Sequence[str]) -> str:
    text = " & ".join(cells)
    guard = "{}" if text.startswith(("[", "*")) else ""  # \\\\ before would read it as its option
    return guard + text + r" \\"
