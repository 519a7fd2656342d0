"""What people ask of plans and releases."""
