"""What a release means for people, and how beliefs move: ``geodp.explain``."""

from geodp.analysis.explain.audit import explain_audit
from geodp.analysis.explain.bayes import Belief, beliefs, posterior
from geodp.analysis.explain.card import explain
from geodp.analysis.explain.page import Explanation

__all__ = ["Belief", "Explanation", "beliefs", "explain", "explain_audit", "posterior"]
