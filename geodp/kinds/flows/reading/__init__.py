"""Reading of trips, with the trips of every person bounded."""
