"""Fits settings into budgets: as many words as there is room for, and which."""

from collections.abc import Callable

from kerascompact.search.corpus import Corpus
from kerascompact.search.setting import Setting
from kerascompact.search.sizes import MARGIN, Sizes, scaled
from kerascompact.search.space import FEWEST_WORDS, WIDTHS, at_size
from kerascompact.search.starts import Start
from kerascompact.search.tokens import MOST_IDS
from kerascompact.search.training import Words, most_words, words_of


class Fitting:
    """Words and bytes of settings.

    Args:
        corpus: The texts.
        sizes: Predicted bytes of files.
        whole: Gives the model of all words by which words are chosen, of some rules, a fold and a
            start, see `Guides.whole`.
    """

    def __init__(
        self, corpus: Corpus, sizes: Sizes, whole: Callable[[str, int, str], Start]
    ) -> None:
        self.corpus, self.sizes, self.whole = corpus, sizes, whole

    def most(self, setting: Setting, budget: int) -> Setting | None:
        """The same setting with the most words that fit a budget, to a thousandth of its bytes.

        Bytes grow nearly in proportion to words, so that interpolation needs few sizes.
        """
        most = most_words(setting, len(self.corpus.tokens(setting.rules).vocabulary))
        if setting.stored == "buckets":
            most = MOST_IDS
        target, high = budget - MARGIN, min(most, MOST_IDS)
        low = min(FEWEST_WORDS, high)  # of few texts, there may be fewer
        smaller, larger = self._bytes(setting, low), self._bytes(setting, high)
        if smaller > target:
            return None
        if larger <= target:
            low, smaller = high, larger
        halve = False
        while high - low > 1 and target - smaller > budget // 1000:
            share = 0.5 if halve else (target - smaller) / (larger - smaller)
            middle = min(max(low + int(share * (high - low)), low + 1), high - 1)
            found = self._bytes(setting, middle)
            halve = not halve  # so that it ends soon, whatever the sizes
            if found <= target:
                low, smaller = middle, found
            else:
                high, larger = middle, found
        return at_size(setting._replace(words=low)) if smaller else None

    def _bytes(self, setting: Setting, words: int) -> int:
        """Bytes of the file, 0 if there are too few words for the method's sizes."""
        try:
            return self.sizes.predict(at_size(setting._replace(words=words)))
        except ValueError:
            return 0

    def smallest(self) -> tuple[int, dict[str, int]]:
        """Bytes of the smallest file that knows words, and what they consist of."""
        setting = Setting(FEWEST_WORDS, WIDTHS[0], recipe="int4", rules=self.corpus.rules)
        setting = setting._replace(stored="slots", skip_unknown=True)
        return self.sizes.predict(setting) + MARGIN, self.sizes.parts(setting)

    def words(self, setting: Setting, budget: int, fold: int = 0) -> tuple[Setting, Words]:
        """The words of a setting, fewer if their search takes more than that of most words."""
        by_norm = setting.chosen in ("norm", "norm_and_count")
        start = "full" if setting.start == "random" else setting.start
        table = self.whole(setting.rules, fold, start).table if by_norm else None
        while True:
            vocabulary = words_of(self.corpus, setting, table)
            over = self.bytes(setting, vocabulary) - (budget - MARGIN)
            if over <= 0:
                return setting, vocabulary
            fewer = max(1, -(-over // (4 + setting.width)))
            if setting.words - fewer < FEWEST_WORDS:
                raise ValueError(f"It does not fit {budget:,} bytes.")
            setting = scaled(setting._replace(words=setting.words), setting.words - fewer)

    def bytes(self, setting: Setting, vocabulary: Words) -> int:
        """Predicted bytes of the file of a setting and its words."""
        words = vocabulary.words if setting.stored == "fingerprints" else None  # type: ignore[union-attr]
        return self.sizes.predict(setting, words)
