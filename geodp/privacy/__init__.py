"""How much: budgets, events, keys, noise and the ledger."""
