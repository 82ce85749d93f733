"""Reranking of a finished list by one call, around any method: ``rerank=listwise | pointwise``."""

from baselines.rerank.cards import cards
from baselines.rerank.orders import Listwise, Pointwise, Settings, listwise, pointwise

__all__ = ["Listwise", "Pointwise", "Settings", "cards", "listwise", "pointwise"]
