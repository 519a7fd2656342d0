"""Tables from what people have in memory."""
