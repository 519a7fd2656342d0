"""Budgets, privacy events, keys, noise and the ledger: everything a guarantee rests on."""
