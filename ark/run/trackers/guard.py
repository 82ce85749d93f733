"""Keeps a tracker's errors, hangs and exits away from the run."""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import NoReturn

from ark.backbone.keys import one_line, secrets
from ark.errors import ArkError
from ark.protocols import Tracker
from ark.records import Json

START_TIMEOUT = 30.0  # seconds; a tracker's own ``start_timeout`` goes before it
FINISH_TIMEOUT = 60.0
EXIT_GRACE = 10.0  # seconds for exit hooks and threads once the exit code is known
HUNG_GRACE = 1.0
_THREAD = "ark-tracker"


class NoTracker:
    """Tells nobody."""

    def start(self, cell: Mapping[str, Json]) -> None:
        """Nothing."""

    def finish(self, result: Mapping[str, Json]) -> None:
        """Nothing."""


class Careful:
    """Calls a tracker on a thread of its own, for a limited time, with copies of what it is told.

    Whatever it raises (SystemExit too) and a call that does not come back cost one line on
    standard error. After a hung call the tracker is not called again; ``abandoned`` may be shared
    by the cells of a sweep, so that a dead service is waited for once.
    """

    def __init__(self, inner: Tracker, abandoned: threading.Event | None = None) -> None:
        self._inner = inner
        self._abandoned = abandoned or threading.Event()
        self._hidden = secrets()

    def start(self, cell: Mapping[str, Json]) -> None:
        """Pass on; report a failure."""
        self._call(self._inner.start, cell, self._seconds("start_timeout", START_TIMEOUT))

    def finish(self, result: Mapping[str, Json]) -> None:
        """Pass on; report a failure."""
        self._call(self._inner.finish, result, self._seconds("finish_timeout", FINISH_TIMEOUT))

    def _seconds(self, name: str, default: float) -> float:
        own = getattr(self._inner, name, default)
        return float(own) if isinstance(own, int | float) else default

    def _call(
        self, call: Callable[[Mapping[str, Json]], None], value: Mapping[str, Json], seconds: float
    ) -> None:
        if self._abandoned.is_set() or isinstance(self._inner, NoTracker):
            return
        ended = threading.Event()
        errors: list[BaseException] = []
        own = copy.deepcopy(dict(value))  # a tracker must not change what the run goes on with

        def work() -> None:
            try:
                call(own)
            except BaseException as error:  # noqa: BLE001 (a stranger's code; even sys.exit)
                errors.append(error)
            finally:
                ended.set()

        threading.Thread(target=work, name=_THREAD, daemon=True).start()
        if not ended.wait(seconds):
            self._abandoned.set()
            self._tell(f"no answer in {seconds:g} s, not asked again")
        elif errors:
            known = isinstance(errors[0], ArkError)  # its message is meant for people
            self._tell(str(errors[0]) if known else f"{type(errors[0]).__name__}: {errors[0]}")

    def _tell(self, what: str) -> None:
        line = one_line(f"tracker: {type(self._inner).__name__}: {what}", self._hidden)
        sys.stderr.write(f"{line}; the run goes on\n")


def leave(code: int) -> NoReturn:
    """Exit with ``code``, also where a tracker's threads or exit hooks would hold the process.

    They get ``EXIT_GRACE`` seconds, or ``HUNG_GRACE`` if a call has hung already.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    hung = any(thread.name == _THREAD for thread in threading.enumerate())
    watchdog = threading.Timer(HUNG_GRACE if hung else EXIT_GRACE, os._exit, (code,))
    watchdog.daemon = True
    watchdog.start()
    sys.exit(code)
