"""Selection, as ``geodp.select``: release which candidates are best, without any count."""

from geodp.features.select.card import SelectionCard
from geodp.features.select.hot_spots import top_cells
from geodp.features.select.mechanisms.base import Candidates, Selector
from geodp.features.select.mechanisms.exponential import exponential
from geodp.features.select.mechanisms.permute_and_flip import permute_and_flip
from geodp.features.select.question import Question
from geodp.features.select.selected import Selected
from geodp.privacy.selected import Selection

__all__ = [
    "Candidates",
    "Question",
    "Selected",
    "Selection",
    "SelectionCard",
    "Selector",
    "exponential",
    "permute_and_flip",
    "top_cells",
]
