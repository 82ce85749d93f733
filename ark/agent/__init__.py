"""ARK: tools, prompt, loop and fusion."""

from ark.agent.fusion import Fusion, fuse
from ark.agent.method import Ark

__all__ = ["Ark", "Fusion", "fuse"]
