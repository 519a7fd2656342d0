"""Page of a released map: its content, its appearance and its captions."""
