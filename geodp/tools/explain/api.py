"""Explain a release to people, and bound how beliefs move: ``geodp.explain``."""

from geodp.tools.explain.audit import explain_audit as explain_audit
from geodp.tools.explain.bayes import Belief as Belief
from geodp.tools.explain.bayes import beliefs as beliefs
from geodp.tools.explain.bayes import posterior as posterior
from geodp.tools.explain.card import explain as explain
from geodp.tools.explain.differencing import Answer as Answer
from geodp.tools.explain.differencing import differencing as differencing
from geodp.tools.explain.differencing import explain_differencing as explain_differencing
from geodp.tools.explain.page import Explanation as Explanation
from geodp.tools.explain.page import Section as Section
