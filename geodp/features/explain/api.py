"""Explain a release to people, and how beliefs move: ``geodp.explain``."""

from geodp.features.explain.audit import explain_audit
from geodp.features.explain.bayes import Belief, beliefs, posterior
from geodp.features.explain.card import explain
from geodp.features.explain.page import Explanation, Section

__all__ = ["Belief", "Explanation", "Section", "beliefs", "explain", "explain_audit", "posterior"]
