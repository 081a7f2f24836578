"""Tables that are read in passes: arrays, maps of files, CSV and Parquet, streams of blocks, Dask collections."""

from mercer.data.blocks.opening import as_source
from mercer.data.blocks.source import Source
from mercer.data.blocks.table import Block, Part

__all__ = ["Block", "Part", "Source", "as_source"]
