"""What all figures share: matplotlib itself, colours, and files that are equal for equal input."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ark.errors import UserError
from ark.records import Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette (2008), told apart with every common kind of colour blindness.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, RED, YELLOW, BLACK, GREY = "#56B4E9", "#D55E00", "#F0E442", "#000000", "#999999"
COLOURS = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HEAT = "cividis"  # even in lightness, and the same with red-green blindness

_RC: Json = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # names of models are text, whatever signs they hold
    "pdf.fonttype": 42,  # whole letters, as journals ask for
    "hatch.linewidth": 0.6,
    "savefig.dpi": 160,
    "figure.dpi": 160,
    "svg.hashsalt": "ark",
}
# A date or a version would make two pictures of the same numbers differ.
_METADATA = {
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib with our settings and no one else's. UserError where it is not installed."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise UserError(
            "figures need matplotlib: pip install 'ark-harness[figures]' "
            "(or pip install 'matplotlib>=3.8')"
        ) from None
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


def save(figure: Figure, out: Path, name: str) -> list[Path]:
    """``name.png`` and ``name.pdf`` in the folder ``out``, made if need be. No window is opened."""
    paths = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for form, metadata in _METADATA.items():
            path = out / f"{name}.{form}"
            figure.savefig(path, format=form, metadata=metadata, bbox_inches="tight")
            paths.append(path)
    except OSError as error:
        raise UserError(f"cannot write to {out} ({error.strerror}): give another --out") from None
    return paths


def slug(*parts: str) -> str:
    """A file name out of labels: letters, digits and single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(parts).casefold()).strip("-")[:100] or "figure"


def unique(names: Sequence[str]) -> list[str]:
    """The names, later ones of a kind numbered from 2."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return out
