"""Data and settings as one number, by which a checkpoint knows its own search again."""

from __future__ import annotations

import hashlib
from typing import Any

from mercer.selection.identity import identity


def fingerprint(*parts: Any) -> str:
    """One number for data and settings; another one if anything in them differs."""
    digest = hashlib.sha256()
    for part in parts:
        if hasattr(part, "tocsr"):
            matrix = part.tocsr()
            digest.update(identity([matrix.shape, matrix.data, matrix.indices, matrix.indptr]).encode())
        else:
            digest.update(identity(part).encode())
        digest.update(b"|")
    return digest.hexdigest()
