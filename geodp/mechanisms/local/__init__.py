"""Local differential privacy: what devices do before anybody sees their values."""
