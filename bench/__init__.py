"""Benchmarks: ``python -m bench NAME [--json FILE]``. Read ratios within a run, not seconds."""
