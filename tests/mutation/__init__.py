"""Mutants of the code that privacy stands on, and the tests that must notice them.

    python -m tests.mutation              # all targets; exit code 1 if a mutant lives unexpectedly
    python -m tests.mutation ledger loss  # the targets whose module holds one of these words
    python -m tests.mutation --list       # names the mutants and runs nothing
    python -m tests.mutation --random 300 --seed 1  # as many of whole packages, drawn at random

A mutant is the project with one comparison, constant, operator, condition or argument changed. It
is made in memory, in a process of its own, and the working tree is never touched. A mutant that all
tests of its target let pass has survived: then a test is missing, or the change means nothing, and
`equivalent.txt` says why.

Mutants of whole packages are drawn from all functions of release, io, cli, kinds, tools, local and
cluster. Each is tried against the tests of these packages that run its line: those nearest to it
first, as many as take 40 seconds. Which tests run which lines is measured once, in about ten
minutes, and kept in `build/mutation/lines.json`; remove it where code or tests have changed.
Processes that a test starts know of no mutant, and laws and other packages' tests are not asked:
what none of the tests runs may well be run by those. Editing these packages draws other mutants
from the same seed.

Two libraries were looked at first. mutmut leaves decorated functions as they are, which here are
kernels and properties, and cosmic-ray drops no arguments and writes its mutants into the tree.
"""
