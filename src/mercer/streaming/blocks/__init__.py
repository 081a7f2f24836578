"""Tables that are read in passes: arrays, maps of files, CSV and Parquet, streams of blocks, Dask collections."""

from mercer.streaming.blocks.opening import as_source
from mercer.streaming.blocks.source import Part, Source
from mercer.streaming.blocks.table import Block

__all__ = ["Block", "Part", "Source", "as_source"]
