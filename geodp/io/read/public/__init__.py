"""Public files beside the counts: where people may be, and areas to publish or to sum over."""
