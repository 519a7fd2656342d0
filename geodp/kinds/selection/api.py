"""Selection, as ``geodp.select``: release which candidates are best, without any count."""

from geodp.kinds.selection.card import SelectionCard
from geodp.kinds.selection.mechanisms.base import Candidates, Selector
from geodp.kinds.selection.mechanisms.exponential import exponential
from geodp.kinds.selection.mechanisms.permute_and_flip import permute_and_flip
from geodp.kinds.selection.question import Question
from geodp.kinds.selection.selected import Selected, WrittenSelection, top_cells
from geodp.privacy.selected import Selection

__all__ = [
    "Candidates",
    "Question",
    "Selected",
    "Selection",
    "SelectionCard",
    "Selector",
    "WrittenSelection",
    "exponential",
    "permute_and_flip",
    "top_cells",
]
