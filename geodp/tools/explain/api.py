"""Explain a release to people, and bound how beliefs move: ``geodp.explain``."""

from geodp.tools.explain.audit import explain_audit
from geodp.tools.explain.bayes import Belief, beliefs, posterior
from geodp.tools.explain.card import explain
from geodp.tools.explain.differencing import Answer, differencing, explain_differencing
from geodp.tools.explain.page import Explanation, Section

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
