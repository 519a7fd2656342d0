"""What methods keep between calls, for tests that change their constants."""

from geodp.mechanisms.baselines import matrix
from geodp.mechanisms.central import pyramid

LEVELS = pyramid._levels, pyramid._descent, pyramid._tree_variance


def forget_levels():
    """Forget what follows from the pyramid's constants, and takes no time."""
    for function in LEVELS:
        function.cache_clear()


def forget_strategies():
    """Forget the strategies of the matrix mechanism, whose search takes seconds."""
    matrix._strategy.cache_clear()
