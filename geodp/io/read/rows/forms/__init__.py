"""Forms of tables beside text and Parquet: of GDAL's vector drivers, JSON, workbooks."""
