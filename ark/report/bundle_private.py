"""What must not leave the machine: paths of its disk and values of its secret variables."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from ark.errors import UserError
from ark.graph import data_root
from ark.records import Json

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!OR)", re.IGNORECASE)
_SHORTEST = 8  # characters of a value that is a secret and not a word such as ``false``
# Two steps at least, and not inside a word or an address: "and/or" and "https://a.org/b" stay.
_PATH = re.compile(
    r"(?<![\w:/.~-])(?:~|[A-Za-z]:)?(?:/[^\s/'\"<>|:,;]+){2,}/?"
    r"|(?<!\w)[A-Za-z]:\\[^\s'\"<>|:,;]+"
)


def without_paths(text: str) -> str:
    """The same with every absolute path cut to its last part: ``…/name``."""
    return _PATH.sub(lambda m: "…/" + re.split(r"[/\\]", m.group().rstrip("/\\"))[-1], text)


def scrubbed(value: Json) -> Json:
    """JSON with every text in it ``without_paths``."""
    if isinstance(value, str):
        return without_paths(value)
    if isinstance(value, list):
        return [scrubbed(each) for each in value]
    if isinstance(value, dict):
        return {without_paths(key): scrubbed(each) for key, each in value.items()}
    return value


def refuse_secrets(members: Mapping[str, bytes], folder: Path) -> None:
    """The last look before a bundle is written.

    Raises UserError where a member holds the value of an environment variable whose name says that
    it is a secret, or the path of the home, data, working or run folder.
    """
    secret = [
        (f"the value of the environment variable {name}", value)
        for name, value in sorted(os.environ.items())
        if _SECRET.search(name) and len(value) >= _SHORTEST
    ]
    places = (data_root(), Path.cwd(), folder.absolute().parent)
    paths = [Path.home().as_posix() + "/", *(str(p) for p in places if len(p.parts) > 2)]
    for what, value in (*secret, *(("a path of this machine", p) for p in paths)):
        forms = {value.encode(), json.dumps(value)[1:-1].encode()}
        for name, data in members.items():
            if any(form in data for form in forms):
                raise UserError(
                    f"{name} would hold {what}: nothing was written; remove it from the settings "
                    "and run the cell again"
                )
