"""What the chain of a ledger stands on: a locked file, its opening, an index, a witness."""
