"""Ratings of items by users: made up, or from a CSV file of your own such as MovieLens'."""

import csv
import io
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.datasets.base import unpack

NO_CLUSTER = ("", "(no genres listed)")  # the second is MovieLens'


class Rated(NamedTuple):
    """Some ratings: `users` and `items` int32 `(n,)`, `ratings` float32 `(n,)`."""

    users: np.ndarray
    items: np.ndarray
    ratings: np.ndarray

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """Users and items as `models.matrix_factorization` names them."""
        return {"user": self.users, "item": self.items}


class Ratings(NamedTuple):
    """Ratings in three splits.

    `user_names[i]` and `item_names[i]` are what the file calls user and item `i`; those with most
    ratings come first. `item_clusters` maps an item to its clusters, for
    `knowledge.cluster_graph`; an item of none is missing.
    """

    name: str
    train: Rated
    dev: Rated
    test: Rated
    user_names: tuple[str, ...]
    item_names: tuple[str, ...]
    item_clusters: dict[int, list[str]]
    about: str


def synthetic(
    num_users: int = 300,
    num_items: int = 150,
    num_clusters: int = 10,
    ratings_per_user: int = 30,
    noise: float = 0.4,
    dev: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
) -> Ratings:
    """Makes up ratings of users who like some clusters of items and not others.

    `r_ui = 3 + b_u + b_i + t_u,c(i) + e`, in half stars from 0.5 to 5: `b_u, b_i ~ N(0, 0.3)`,
    tastes `t ~ N(0, 0.8)`, `e ~ N(0, noise)`, and a cluster `c(i)` for each item. Item `i` is rated
    in proportion to `1 / (i + 10)`, by each user at most once.

    Args:
        num_users, num_items, num_clusters: How many there are.
        ratings_per_user: How many items each user rates.
        noise: Deviation of what nothing predicts.
        dev, test: Shares of the ratings held out.
        seed: Of everything.
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> data = synthetic(num_users=40, ratings_per_user=10)
    >>> data.train.users.shape, sorted({r.item() * 2 % 1 for r in data.train.ratings})
    ((320,), [0.0])
    """
    num_users = checks.integer_in("num_users", num_users, 1)
    num_items = checks.integer_in("num_items", num_items, 1)
    num_clusters = checks.integer_in("num_clusters", num_clusters, 1)
    each = checks.integer_in("ratings_per_user", ratings_per_user, 1, num_items)
    noise = checks.number("noise", noise, at_least=0)
    random = np.random.default_rng(checks.integer_in("seed", seed, 0))
    cluster = random.integers(num_clusters, size=num_items)
    taste = random.normal(0, 0.8, (num_users, num_clusters))
    of_user, of_item = random.normal(0, 0.3, num_users), random.normal(0, 0.3, num_items)
    popular = 1 / (np.arange(num_items) + 10)
    chosen = [
        random.choice(num_items, each, replace=False, p=popular / popular.sum())
        for _ in range(num_users)
    ]
    users, items = np.repeat(np.arange(num_users), each), np.concatenate(chosen)
    exact = 3 + of_user[users] + of_item[items] + taste[users, cluster[items]]
    exact += random.normal(0, noise, len(users))
    stars = np.clip(np.round(2 * exact) / 2, 0.5, 5)
    splits = _split(users, items, stars, dev, test, seed)
    return Ratings(
        "synthetic",
        *splits,
        tuple(f"user {n}" for n in range(num_users)),
        tuple(f"item {n}" for n in range(num_items)),
        {item: [f"cluster {number}"] for item, number in enumerate(cluster.tolist())},
        f"Made up: {len(users):,} ratings by {num_users} users of {num_items} items.",
    )


def read_csv(
    path: str | os.PathLike[str],
    user: str | int = "userId",
    item: str | int = "movieId",
    rating: str | int = "rating",
    *,
    clusters_path: str | os.PathLike[str] | None = None,
    clusters: str = "genres",
    delimiter: str | None = None,
    dev: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
) -> Ratings:
    """Reads ratings, one in each row.

    The defaults read `ratings.csv` of MovieLens (`userId,movieId,rating,timestamp`), and
    `movies.csv` beside it (`movieId,title,genres`, genres separated by `|`) as `clusters_path`.
    MovieLens 100K has no header: `read_csv("u.data", 0, 1, 2, delimiter="\\t")`.

    Args:
        path: The file, UTF-8; it may end in `.gz`.
        user, item, rating: Names of the columns, or their numbers, from 0, if there is no header.
        clusters_path: A second file with a header, the column `item` and the column `clusters`,
            several clusters separated by `|`; items that nobody rated are passed over.
        clusters: Name of that column.
        delimiter: Between columns; `None`: a tab if the name ends in `.tsv` or `.tsv.gz`, else a
            comma.
        dev, test: Shares of the ratings held out.
        seed: Of that choice.
    Raises: ValueError, naming the file and the line: it is missing or damaged, has no such column,
        a row of another length, an empty name, or a rating that is not a finite number.
    Example:
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ratings.csv"
    >>> _ = path.write_text("userId,movieId,rating,timestamp\\n" + "7,1,4.5,0\\n8,1,2,0\\n" * 5)
    >>> data = read_csv(path)
    >>> data.user_names, data.item_names, len(data.train.ratings)
    (('7', '8'), ('1',), 8)

    Reference: [Harper & Konstan, TiiS 2015](https://doi.org/10.1145/2827872).
    """
    path = Path(path)
    rows = _rows(path, (user, item, rating), delimiter)
    stars = np.array([_number(value, path, line) for (_, _, value), line in rows], np.float32)
    user_names, users = _numbered([row[0] for row, _ in rows])
    item_names, items = _numbered([row[1] for row, _ in rows])
    of_item: dict[int, list[str]] = {}
    if clusters_path is not None:
        known = {name: number for number, name in enumerate(item_names)}
        for (name, found), _ in _rows(Path(clusters_path), (item, clusters), delimiter, 1):
            names = [cluster for cluster in found.split("|") if cluster not in NO_CLUSTER]
            if name in known and names:
                of_item[known[name]] = names
    about = f"{path.name}: {len(rows):,} ratings by {len(user_names):,} users of "
    about += f"{len(item_names):,} items."
    splits = _split(users, items, stars, dev, test, seed)
    return Ratings(path.name, *splits, user_names, item_names, of_item, about)


def _split(
    users: np.ndarray, items: np.ndarray, stars: np.ndarray, dev: float, test: float, seed: int
) -> tuple[Rated, Rated, Rated]:
    """Train, dev and test: rows at random, in the order they had."""
    for name, share in (("dev", dev), ("test", test)):
        checks.number(name, share, above=0, up_to=0.45)
    counts = [max(1, round(share * len(users))) for share in (dev, test)]
    if sum(counts) >= len(users):
        raise ValueError(f"There must be ratings left to train on. Received: {len(users)} ratings.")
    order = np.random.default_rng(checks.integer_in("seed", seed, 0)).permutation(len(users))
    held = [np.sort(part) for part in np.split(order, np.cumsum(counts))]
    users, items = users.astype(np.int32), items.astype(np.int32)
    stars = stars.astype(np.float32)
    in_dev, in_test, in_train = (Rated(users[rows], items[rows], stars[rows]) for rows in held)
    return in_train, in_dev, in_test


def _numbered(names: list[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Distinct names, the most frequent first, and the number of each."""
    counts = Counter(names)
    ordered = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    number = {name: place for place, name in enumerate(ordered)}
    return ordered, np.array([number[name] for name in names], np.int32)


def _number(value: str, path: Path, line: int) -> float:
    try:
        found = float(value)
    except ValueError:
        found = np.nan
    if not np.isfinite(found):
        raise ValueError(f"{path}, line {line}: a rating must be a number. Received: {value!r}.")
    return found


def _rows(
    path: Path, columns: Sequence[str | int], delimiter: str | None, may_be_empty: int = 0
) -> list[tuple[list[str], int]]:
    """The chosen columns of each row, and its line; the last `may_be_empty` may be empty."""
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    if delimiter is None:
        delimiter = "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    try:
        text = unpack(path.read_bytes(), path).decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error.reason}.") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    places = [column for column in columns if isinstance(column, int)]
    if not places:
        header = next(reader, [])
        for column in columns:
            if column not in header:
                raise ValueError(f"{path} has no column {column!r}. Its columns are {header}.")
        places = [header.index(str(column)) for column in columns]
    elif len(places) < len(columns):
        checks.fail("user, item, rating", "all names, or all numbers of columns", tuple(columns))
    found = []
    for row in reader:
        line = reader.line_num
        if len(row) <= max(places):
            raise ValueError(
                f"{path}, line {line}: column {max(places)} (from 0) expected. "
                f"Received: {len(row)} columns."
            )
        values = [row[place].strip() for place in places]
        if not all(values[: len(values) - may_be_empty]):
            raise ValueError(f"{path}, line {line}: a user, an item or a rating is empty.")
        found.append((values, line))
    if not found:
        raise ValueError(f"{path} has no rows.")
    return found
