"""Parts of a ledger's chain: the locked file, its header, an index and a witness."""
