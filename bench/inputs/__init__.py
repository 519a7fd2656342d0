"""What is counted in benchmarks: made-up, named and public tables."""
