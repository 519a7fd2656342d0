"""What files declare of their own length, against what is there."""
