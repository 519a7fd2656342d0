"""Tools that plan, compare, evaluate, explain and audit releases, each in a folder of its own."""
