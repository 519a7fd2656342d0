"""How it is measured: time, memory, instructions, nodes, errors."""
