"""Selection, as ``geodp.select``: release which candidates are best, without any count."""

from geodp.kinds.selection.card import SelectionCard as SelectionCard
from geodp.kinds.selection.mechanisms.base import Candidates as Candidates
from geodp.kinds.selection.mechanisms.base import Selector as Selector
from geodp.kinds.selection.mechanisms.exponential import exponential as exponential
from geodp.kinds.selection.mechanisms.permute_and_flip import permute_and_flip as permute_and_flip
from geodp.kinds.selection.plan import PlannedSelection as PlannedSelection
from geodp.kinds.selection.plan import plan as plan
from geodp.kinds.selection.question import Question as Question
from geodp.kinds.selection.selected import Selected as Selected
from geodp.kinds.selection.selected import WrittenSelection as WrittenSelection
from geodp.kinds.selection.selected import top_cells as top_cells
from geodp.privacy.selected import Selection as Selection
