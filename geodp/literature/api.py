"""Methods of the literature, as ``geodp.literature``: to be compared with, rarely to be used.

Recoding for k-anonymity, a test of two means with its power, averages of models that devices fit,
and blends of two populations of devices.
"""

from geodp.literature.averaged import AveragedModel, average_models, report_model
from geodp.literature.bit_means import means, power, report_bits, sample_size
from geodp.literature.blending import Blend, Share, SquareError, blend
from geodp.literature.recoding import Recoding, Taxonomy, generalize, ncp

__all__ = [
    "AveragedModel",
    "Blend",
    "Recoding",
    "Share",
    "SquareError",
    "Taxonomy",
    "average_models",
    "blend",
    "generalize",
    "means",
    "ncp",
    "power",
    "report_bits",
    "report_model",
    "sample_size",
]
