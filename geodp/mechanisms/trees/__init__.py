"""What methods on trees share."""
