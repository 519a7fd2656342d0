"""Baselines that geodp is compared with."""
