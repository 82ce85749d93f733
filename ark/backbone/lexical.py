"""``backbone=lexical``: a rule-based controller, no LLM. The default; runs without key or model.

It sees messages, tools and schema only: no graph, no question id, no graph name. Policies are
looked up by tag; a method may bring its own beside its prompts (``policies`` of the constructor).
"""

from __future__ import annotations

from ark.backbone.ark_rules import ark_step
from ark.backbone.choose import choose
from ark.backbone.kg_agent_rules import kg_agent_step
from ark.backbone.rules import Policy, PolicyBackbone


class LexicalBackbone(PolicyBackbone):
    """Links names, expands, intersects and selects by shared words; ties drawn by seed and draw."""

    name = "lexical"
    version = 6  # of the rules: raise it with every change that can move an answer

    def defaults(self) -> dict[str, Policy]:
        """The rules for ARK and KG-Agent, and choosing among numbered options for other tags."""
        return {"ark.step": ark_step, "kg_agent.step": kg_agent_step, "": choose}
