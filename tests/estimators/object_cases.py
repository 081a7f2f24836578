"""Greetings in two languages, and everything that may hold them."""

import numpy as np
import pandas as pd
import polars as pl

from mercer.kernels import Jaccard, Spectrum, Subsequence, Words
from oracles import kernel_ridge

ENGLISH = ["hello", "good morning", "hi there", "good day", "how are you", "good evening", "hey", "see you"]
GERMAN = ["hallo", "guten morgen", "hallo du", "guten tag", "wie geht es", "guten abend", "moin", "bis bald"]
TEXTS = ENGLISH + GERMAN
LABELS = np.array(["english"] * 8 + ["german"] * 8)
TARGETS = np.array([float(len(text)) for text in TEXTS])
NEW = ["good morgen", "", "moin moin", "\U0001f600\ud800", "hello you"]
KERNELS = [Words(), Words(["good", "guten"]), Spectrum(2), Subsequence(2), Subsequence(4), Jaccard()]
ALPHAS = [0.1, 1.0]
HOLDERS = {
    "list": list,
    "tuple": tuple,
    "object array": lambda X: np.array(X, dtype=object),
    "text array": np.array,
    "column": lambda X: np.array(X, dtype=object)[:, None],
    "Series": lambda X: pd.Series(X, index=range(100, 100 + len(X))),
    "string Series": lambda X: pd.Series(X, dtype="string"),
    "object Series": lambda X: pd.Series(X, dtype=object),
    "category": lambda X: pd.Series(X, dtype="category"),
    "DataFrame": lambda X: pd.DataFrame({"text": X}),
    "string DataFrame": lambda X: pd.DataFrame({"text": X}, dtype="string"),
    "polars Series": pl.Series,
    "polars DataFrame": lambda X: pl.DataFrame({"text": X}),
}


def by_hand(kernel, X, y, Z, alpha, weights=None):
    """Predictions of kernel ridge regression from the matrix."""
    dual, constant = kernel_ridge(kernel(X), np.asarray(y, dtype=float).reshape(len(X), -1), alpha, weights)
    return (kernel(Z, X) @ dual + constant)[:, 0]
