"""Every documented form of input is published as docs/inputs.md says, or refused in its words."""
