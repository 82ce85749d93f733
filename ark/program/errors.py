"""The one error of this room: a program that cannot be read, checked or run."""

from __future__ import annotations

from ark.errors import ArkError

Position = tuple[int, int]  # line and column, both from 1; (0, 0) where the text is not known
NOWHERE: Position = (0, 0)


class ProgramError(ArkError):
    """One line that says what is wrong with a program and where.

    It is not a ``UserError``: programs are mostly written by models, and a planner reads the
    message as an observation. Whoever takes a program from a user's file adds the file's name.
    """

    def __init__(self, message: str, at: Position = NOWHERE) -> None:
        self.at = at
        place = "" if at == NOWHERE else f"line {at[0]}, column {at[1]}: "
        super().__init__(place + message)
