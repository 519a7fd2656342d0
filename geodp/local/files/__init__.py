"""Files of local collection: reports of devices, and the sums of reports."""
