"""Ratings: what is made up follows its formula, what is read is what the file says."""

import gzip

import numpy as np
import pytest

from benchmarks.data import ratings
from kerascompact.knowledge import cluster_graph

HEAD = "userId,movieId,rating,timestamp\n"
ROWS = "3,10,4.5,1\n3,20,1,2\n9,10,5,3\n9,30,2.5,4\n9,20,1.5,5\n3,30,3,6\n4,10,4,7\n"
MOVIES = """movieId,title,genres
10,"Toy, Story",Comedy|Animation
20,Heat,Action
30,Sabrina,(no genres listed)
99,Nobody,Comedy
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(HEAD + ROWS)
    return path


def every(data):
    """All ratings of all splits, by name."""
    return {
        (data.user_names[user], data.item_names[item]): float(stars)
        for split in (data.train, data.dev, data.test)
        for user, item, stars in zip(*split, strict=True)
    }


def test_synthetic_follows_its_formula():
    data = ratings.synthetic(600, 90, 6, 40, noise=0.2, seed=1)
    sizes = [len(split.ratings) for split in (data.train, data.dev, data.test)]
    assert sizes == [19_200, 2_400, 2_400]
    assert len(every(data)) == 24_000  # no item twice by one user
    assert (
        data.train.users.dtype == data.train.items.dtype == np.int32
        and data.train.ratings.dtype == np.float32
    )
    stars = data.train.ratings
    assert set(np.unique(stars)) <= set(np.arange(1, 11) / 2) and 2.7 < stars.mean() < 3.3
    cluster = np.array([int(data.item_clusters[i][0].split()[1]) for i in range(90)])
    users, items = data.train.users, data.train.items
    groups = users * 6 + cluster[items]
    means = np.bincount(groups, stars, 3600) / np.maximum(np.bincount(groups, minlength=3600), 1)
    # one user's ratings of one cluster differ by item, noise and rounding: 0.3, 0.2 and 0.15
    left = np.std((stars - means[groups])[np.bincount(groups, minlength=3600)[groups] > 5])
    assert 0.25 < left < 0.45 < 0.8 < stars.std()
    counts = np.bincount(items, minlength=90)
    assert counts[:10].mean() > 2 * counts[-10:].mean()


def test_synthetic_seeds():
    first, again, other = (ratings.synthetic(20, 30, seed=s, ratings_per_user=5) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.train.items, again.train.items)
    assert every(first) != every(other)


def test_reads_movielens(file, tmp_path):
    (tmp_path / "movies.csv").write_text(MOVIES)
    data = ratings.read_csv(file, clusters_path=tmp_path / "movies.csv")
    assert data.user_names == ("3", "9", "4") and data.item_names == ("10", "20", "30")
    assert every(data) == {
        ("3", "10"): 4.5, ("3", "20"): 1, ("9", "10"): 5, ("9", "30"): 2.5, ("9", "20"): 1.5,
        ("3", "30"): 3, ("4", "10"): 4,
    }  # fmt: skip
    assert [len(split.ratings) for split in (data.train, data.dev, data.test)] == [5, 1, 1]
    assert data.item_clusters == {0: ["Comedy", "Animation"], 1: ["Action"]}
    assert data.about == "ratings.csv: 7 ratings by 3 users of 3 items."


def test_reads_other_layouts(tmp_path):
    plain = tmp_path / "u.data"
    plain.write_text(ROWS.replace(",", "\t"))
    packed = tmp_path / "mine.tsv.gz"
    packed.write_bytes(gzip.compress(("who\twhat\tstars\n" + ROWS.replace(",", "\t")).encode()))
    found = every(ratings.read_csv(plain, 0, 1, 2, delimiter="\t"))
    assert found == every(ratings.read_csv(packed, "who", "what", "stars")) and len(found) == 7


def test_clusters_become_a_graph():
    pytest.importorskip("scipy")
    data = ratings.synthetic(20, 30, 4, 5)
    graph = cluster_graph(data.item_clusters, len(data.item_names))
    for u, v in graph.pairs():
        assert data.item_clusters[u] == data.item_clusters[v]
    sizes = np.unique([names[0] for names in data.item_clusters.values()], return_counts=True)[1]
    assert graph.num_pairs == sum(n * (n - 1) // 2 for n in sizes)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "ratings.csv has no column 'userId'"),
        (HEAD, {}, "ratings.csv has no rows"),
        (HEAD + "1,2\n", {}, r"line 2: column 2 \(from 0\) expected. Received: 2 columns"),
        (HEAD + ROWS + "1,2,much,0\n", {}, "line 9: a rating must be a number. Received: 'much'"),
        (HEAD + "1,2,nan,0\n", {}, "line 2: a rating must be a number"),
        (HEAD + "1,,3,0\n", {}, "line 2: a user, an item or a rating is empty"),
        (HEAD + "1,2,3,0\n", {}, "There must be ratings left to train on. Received: 1 ratings"),
        (HEAD + ROWS, {"user": 0}, "must be all names, or all numbers of columns"),
        (HEAD + ROWS, {"dev": 0.5}, r"`dev` must be a number in \(0, 0.45\]"),
    ],
)
def test_refuses(file, text, options, message):
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        ratings.read_csv(file, **options)


def test_refuses_files_that_are_not_there_or_no_text(tmp_path):
    with pytest.raises(ValueError, match="There is no file .*none.csv"):
        ratings.read_csv(tmp_path / "none.csv")
    (tmp_path / "bad.csv").write_bytes(HEAD.encode() + b"\xff\n")
    with pytest.raises(ValueError, match="bad.csv is not UTF-8 text"):
        ratings.read_csv(tmp_path / "bad.csv")
