"""Backbones: LLMs and what stands in for them."""

from ark.backbone.lexical import LexicalBackbone
from ark.backbone.random_calls import RandomBackbone
from ark.backbone.scripted import ScriptedBackbone

__all__ = ["LexicalBackbone", "RandomBackbone", "ScriptedBackbone"]
