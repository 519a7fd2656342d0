"""Explain a release to people, and bound how beliefs move: ``geodp.explain``."""

from geodp.features.explain.audit import explain_audit
from geodp.features.explain.bayes import Belief, beliefs, posterior
from geodp.features.explain.card import explain
from geodp.features.explain.differencing import Answer, differencing, explain_differencing
from geodp.features.explain.page import Explanation, Section

__all__ = [
    "Answer",
    "Belief",
    "Explanation",
    "Section",
    "beliefs",
    "differencing",
    "explain",
    "explain_audit",
    "explain_differencing",
    "posterior",
]
