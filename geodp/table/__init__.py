"""What is counted: tables before and after the noise."""
