"""Methods of the literature, as ``geodp.literature``: to be compared with, rarely to be used.

Recoding for k-anonymity, a test of two means with its power, averages of models that devices fit,
and blends of two populations of devices.
"""

from geodp.literature.averaged import AveragedModel as AveragedModel
from geodp.literature.averaged import average_models as average_models
from geodp.literature.averaged import report_model as report_model
from geodp.literature.bit_means import means as means
from geodp.literature.bit_means import power as power
from geodp.literature.bit_means import report_bits as report_bits
from geodp.literature.bit_means import sample_size as sample_size
from geodp.literature.blending import Blend as Blend
from geodp.literature.blending import Share as Share
from geodp.literature.blending import SquareError as SquareError
from geodp.literature.blending import blend as blend
from geodp.literature.recoding import Recoding as Recoding
from geodp.literature.recoding import Taxonomy as Taxonomy
from geodp.literature.recoding import generalize as generalize
from geodp.literature.recoding import ncp as ncp
