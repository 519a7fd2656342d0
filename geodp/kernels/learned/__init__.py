"""How far predictions can be trusted: what is gathered of them, fitted and made of them."""
