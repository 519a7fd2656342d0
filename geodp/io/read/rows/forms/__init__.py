"""Formats besides text and Parquet: vector files of GDAL, JSON, workbooks, archives, URLs."""
