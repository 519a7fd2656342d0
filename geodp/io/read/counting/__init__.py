"""What readers do with their inputs: rows and pixels become cells, and cells a table of counts."""
