"""Choice of a shorter vocabulary: the words whose trained vectors matter most."""

from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.initializers.anchors.scored import strongest_rows, weights_of
from kerascompact.text.fingerprints import index
from kerascompact.text.slot_vocabulary import SlotVocabulary
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary


def choose_words(
    vocabulary: Vocabulary,
    vectors: Any,
    size: int,
    *,
    counts: Any = None,
    file_order: bool = False,
    slots: bool = False,
    seed: int | None = 1,
    tag_bits: int = 8,
) -> Vocabulary:
    """Keeps the words whose trained vectors have the largest norms, to train again with these.

    A word whose vector stays short says little about the class, however frequent it is. Start the
    table near zero, so that only training makes vectors long.

    The score is `||e_w||`, or `sqrt(n_w) ||e_w||` of a word that occurs `n_w` times: its square is
    the total loss over all occurrences when the vector is removed. Try both on dev.

    Args:
        vocabulary: Vocabulary of the trained model.
        vectors: Trained table, `(V, d)`, a row per id of the vocabulary.
        size: Size of the new vocabulary in ids, with padding and the unknown word; without `slots`
            at most the words that there are, for empty slots of a `SlotVocabulary` hold none.
        counts: Occurrences of each id, `(V,)`. `None`: the norm alone.
        file_order: Whether to sort the words as a file that takes text searches them (`TextToIds`),
            which saves up to 3 bytes a word. Not for layers that need frequent words first, such as
            `MixtureEmbedding`. If not, words keep their order.
        slots: Whether to make a `SlotVocabulary`, of which a file that takes text stores 1 to 3
            bytes a word. Each word then needs a free slot: 94 % of the strongest words get one,
            the next strongest the rest. Not for layers that need frequent words first.
        seed: Seed of the hash that names the slots. `None`: the best of 8, see
            `SlotVocabulary.from_ranked`.
        tag_bits: Bits of a word's tag in its slot, 8, 16 or 24.
    Returns: A vocabulary with the same token rules.
    Raises: ValueError, if the shapes do not fit, a number is not finite, a count is negative,
        `size` is not in `[3, V]`, with `slots` in `[3, 2 V]`, or both `file_order` and `slots` are
        given.
    Example:
    >>> words = Vocabulary(["the", "good", "bad"])
    >>> table = np.array([[0.0], [0.0], [0.1], [2.0], [-3.0]])
    >>> choose_words(words, table, 4).words
    ('good', 'bad')
    >>> choose_words(words, table, 3, counts=[0, 0, 9000, 5, 1]).words
    ('the',)

    Reference: fastText's pruning, [Joulin et al., 2016](https://arxiv.org/abs/1612.03651), by the
    norm alone.
    """
    if not isinstance(vocabulary, Vocabulary):
        checks.fail("vocabulary", "a kerascompact.text.Vocabulary", vocabulary)
    table = np.asarray(vectors, np.float64)
    if table.ndim != 2 or len(table) != len(vocabulary):
        checks.fail("vectors", f"of the shape ({len(vocabulary)}, width)", table.shape)
    most = 2 * len(vocabulary) if slots else len(vocabulary)  # some slots stay empty
    size = checks.integer_in("size", size, NUM_RESERVED + 1, most)
    scores = np.linalg.norm(checks.finite("vectors", table), axis=1)
    if counts is not None:
        scores *= np.sqrt(weights_of("counts", counts, len(table)))
    # The name of an empty slot has the id of an unknown word.
    ids = np.array([0, 1, *vocabulary.token_ids(vocabulary.words)])
    without = [*range(NUM_RESERVED), *np.flatnonzero(ids != np.arange(len(table)))]
    if checks.boolean("slots", slots):
        if file_order:
            checks.fail("file_order", "False with `slots`, which have an order of their own", True)
        order = strongest_rows(scores, len(table) - len(without), exclude=without)
        ranked = [vocabulary.words[id - NUM_RESERVED] for id in order.tolist()]
        return SlotVocabulary.from_ranked(ranked, size, vocabulary.rules, seed, tag_bits)
    count = min(size - NUM_RESERVED, len(table) - len(without))
    ids = np.sort(strongest_rows(scores, count, exclude=without))
    words = [vocabulary.words[id - NUM_RESERVED] for id in ids.tolist()]
    if file_order:
        words = [words[place] for place in index(words).order]
    return Vocabulary(words, vocabulary.rules)
