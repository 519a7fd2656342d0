import os

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
# The first call of a kernel compiles it, so the time of one example means nothing.
settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
