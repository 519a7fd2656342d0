import os
import signal

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
# Under nohup and in shells' background jobs Ctrl-C is ignored, also by whatever tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The first call of a kernel compiles it, so the time of one example means nothing.
settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
