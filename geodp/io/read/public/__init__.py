"""Public files other than the counts: masks of the domain, and areas to publish or to sum over."""
