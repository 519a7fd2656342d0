"""Forms of tables beside text and Parquet: of GDAL's vector drivers, GeoJSON, JSON lines, workbooks."""
