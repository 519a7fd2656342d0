"""The sentence: publish(table) makes a release."""
