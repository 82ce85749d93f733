"""Names of before: see ``ark.backbone.keys``."""

from __future__ import annotations

from ark.backbone.keys import one_line, secrets

__all__ = ["one_line", "secrets"]
