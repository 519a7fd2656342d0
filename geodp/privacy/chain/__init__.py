"""Parts of a ledger's chain: a locked file, its opening, an index, a witness."""
