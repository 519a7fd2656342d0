"""Where: cells and their codes, orders, hierarchies of areas, domains and regions."""
