"""The same search on workers in processes of their own."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import NystroemRidge, NystroemRidgeClassifierCV, NystroemRidgeCV
from mercer.kernels import Gaussian

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning"),
    pytest.mark.xdist_group("dask"),  # one cluster at a time
]


def test_workers_give_the_search_of_one_process(client, tmp_path):
    client.cluster.scale(2)
    client.wait_for_workers(2, timeout=60)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=3000)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    for i, part in enumerate(np.array_split(np.arange(3000), 5)):
        frame.iloc[part].to_parquet(tmp_path / f"{i}.parquet")
    search = NystroemRidgeCV([Gaussian(0.7), Gaussian(2.0)], [1e-3, 0.1, 10.0], landmarks=30, nested=True)
    here = clone(search).fit(X, y)
    there = clone(search).set_params(backend=client).fit(tmp_path, "y")
    np.testing.assert_allclose(there.table_.scores, here.table_.scores, rtol=1e-9)
    np.testing.assert_allclose(there.nested_scores_, here.nested_scores_, rtol=1e-9)
    np.testing.assert_allclose(there.predict(frame[["a", "b"]]), here.predict(X), atol=1e-9)
    by_rows = clone(search).set_params(scoring="neg_mean_absolute_error")
    lazy = (
        clone(by_rows).set_params(backend=client).fit(da.from_array(X, chunks=(700, 2)), da.from_array(y, chunks=700))
    )
    np.testing.assert_allclose(lazy.table_.scores, by_rows.fit(X, y).table_.scores, rtol=1e-9)
    labels = np.where(y > 0, "up", "down")
    decided = NystroemRidgeClassifierCV([Gaussian(0.7)], [0.1, 1.0], landmarks=30, cv=4)
    far = clone(decided).set_params(backend=client).fit(X, labels)
    np.testing.assert_allclose(far.table_.scores, decided.fit(X, labels).table_.scores, atol=1e-12)
    one = NystroemRidge(0.1, kernel=Gaussian(0.7), landmarks=30, backend=client).fit(tmp_path, "y")
    assert one.n_rows_ == 3000
