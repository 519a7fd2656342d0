"""What a conventional table reveals.

Its public names, those of ``geodp.audit``, are offered by :mod:`geodp.features.audit.api`.
"""
