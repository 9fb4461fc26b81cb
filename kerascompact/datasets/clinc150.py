"""CLINC150 data set: intents of requests to an assistant. Packaged, and the default.

150 intents of ten domains, and queries that fit none of them ("out of scope"). By Larson,
Mahendran, Peper, Clarke, Lee, Hill, Kummerfeld, Leach, Laurenzano, Tang and Mars, from
`clinc/oos-eval` at commit `828f8093932c8fe6ca7936c3d2e52903b1c523de`, under CC BY 3.0
(`clinc150_data/LICENSE`). Changed in form only, from JSON to CSV: `clinc150_data/ATTRIBUTION.txt`.
"""

import csv
import importlib.resources
import io

from kerascompact.core import checks
from kerascompact.datasets.base import Dataset, Known, Split, make_split, unpack, verified

OUT_OF_SCOPE = "oos"
ABOUT = (
    "CLINC150 (clinc/oos-eval at 828f809), CC BY 3.0. Cite Larson et al., An Evaluation Dataset "
    "for Intent Classification and Out-of-Scope Prediction, EMNLP-IJCNLP 2019."
)
FILES = {
    "train": Known(
        "clinc150_data/train.csv.gz",
        "bdb3003766850208fe3f865c8f1ac0e8d2fee0fc056561a433703b276ce5c3be",
        15_100,
    ),
    "dev": Known(
        "clinc150_data/val.csv.gz",
        "329ae59a58d0e25a16d272c7d866226f6b0a24ea846460138a0d640e561b05a5",
        3_100,
    ),
    "test": Known(
        "clinc150_data/test.csv.gz",
        "206b4a561177891ed412214b7d78922f194aff7569eadb097ef6b87fc5d91116",
        5_500,
    ),
}


def load(out_of_scope: bool = False) -> Dataset:
    """Loads CLINC150: train 15,000, dev 3,000 and test 4,500 queries of 150 intents.

    Args:
        out_of_scope: Whether to add the queries that fit no intent (100, 100 and 1,000) as label
            150, "oos".
    Raises: ValueError, if a file of the package is damaged.
    Example:
    >>> data = load()
    >>> len(data.train.texts), len(data.dev.texts), len(data.test.texts), len(data.label_names)
    (15000, 3000, 4500, 150)
    >>> data.train.texts[0], data.label_names[data.train.labels[0]]
    ('what expression would i use to say i love you if i were an italian', 'translate')

    Reference: [Larson et al., EMNLP-IJCNLP 2019](https://aclanthology.org/D19-1131/).
    """
    checks.boolean("out_of_scope", out_of_scope)
    rows = {name: _read(known) for name, known in FILES.items()}
    intents = sorted({intent for intent, _ in rows["train"]} - {OUT_OF_SCOPE})
    names = (*intents, OUT_OF_SCOPE)  # last, so that the other labels are the same without it
    splits = {
        name: make_split([text for _, text in rows[name]], [i for i, _ in rows[name]], names, known)
        for name, known in FILES.items()
    }
    if not out_of_scope:
        names = names[:-1]
        splits = {name: _in_scope(split, len(names)) for name, split in splits.items()}
    return Dataset("clinc150", splits["train"], splits["dev"], splits["test"], names, ABOUT)


def _read(known: Known) -> list[tuple[str, str]]:
    data = importlib.resources.files("kerascompact.datasets").joinpath(known.path).read_bytes()
    text = unpack(verified(data, known.sha256, known.path), known.path).decode()
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return [(row["intent"], row["text"]) for row in rows]


def _in_scope(split: Split, num_intents: int) -> Split:
    wanted = split.labels < num_intents
    texts = [text for text, in_scope in zip(split.texts, wanted, strict=True) if in_scope]
    return Split(texts, split.labels[wanted])
