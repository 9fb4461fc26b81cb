"""Plan: what each part of a model can be stored as, at which loss, and the best within a budget."""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple, Self

import keras

from kerascompact import export
from kerascompact.core import checks
from kerascompact.core.keras_graph import copy_with
from kerascompact.export.embedding_forms import is_embedding, outermost
from kerascompact.export.inputs import input_structure
from kerascompact.export.verification.examples import examples_of
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.search.compacted import Choice, Compacted
from kerascompact.search.file_lengths import Lengths, Pick, bytes_of
from kerascompact.search.measuring import loss_of, measured, recipe_of, sample
from kerascompact.search.parts import KEPT, Candidate, Part, has_head, parts_of
from kerascompact.search.tuning import compile_with_loss, tuned

VERIFIED = 32  # examples on which the file is compared with the model
MOST = 4096  # picks that are kept while parts are added
Made = tuple[Pick, export.Frozen, bytes]


class Plan(NamedTuple):
    """A trained model, and the candidates for each of its parts.

    Args:
        model: The model.
        parts: Its tables and large kernels, which may become forms.
        kernels: Names of the layers of its other kernels.
        choices: Candidates for each part, then for each of these layers.
        loss: Loss of the model on `measured_on`.
        measured_on: Inputs and targets that losses are measured on.
        others: Inputs and targets for fine-tuning.
        options: Options of `export.convert`.
    """

    model: keras.Model
    parts: list[Part]
    kernels: list[str]
    choices: list[list[Candidate]]
    loss: float = 0.0
    measured_on: tuple[Any, Any] = (None, None)
    others: tuple[Any, Any] = (None, None)
    options: dict[str, Any] = {}

    @classmethod
    def of(
        cls,
        model: keras.Model,
        data: tuple[Any, Any],
        samples: int = 512,
        sequence_length: int | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> Self:
        """Measures every candidate of every part, see `search.compact`.

        Raises: ValueError, if the model cannot be converted, or has nothing to round.
        """
        options: dict[str, Any] = {"sequence_length": sequence_length}
        # what cannot be is refused before the work
        file = Interpreter(export.convert(model, "int8", **options))
        parts = parts_of(model)
        measured_on, others = sample(model, data, samples, seed)
        names = input_structure(model)
        examples_of(measured_on[0], file, None, keras.tree.flatten(names), names)
        loss, choices, kernels = measured(model, parts, *measured_on, seed, verbose)
        if not parts and not kernels:
            checks.fail("model", "a model with tables or kernels worth rounding", model.name)
        every = [*choices, *kernels.values()]
        return cls(model, parts, [*kernels], every, loss, measured_on, others, options)

    @property
    def names(self) -> list[str]:
        """What each candidate of a pick is for."""
        return [*(part.layer.name for part in self.parts), *self.kernels]

    def within(self, budget: int, joint: int = 4, epochs: int = 0) -> Compacted:
        """The best of the combinations whose files fit.

        Args:
            budget: Bytes of the file.
            joint: Number of combinations that are converted and measured.
            epochs: Epochs of fine-tuning.

        Raises: ValueError, if none fits; the error names the bytes of the smallest.
        """
        found = [(self.loss_with(made[1]), made) for made in self._fitting(budget, joint)]
        loss, made = min(found, key=lambda one: one[0])
        if epochs:
            after = self._tuned(made[0], epochs)
            if self.loss_with(after[1]) < loss and len(after[2]) <= budget:
                loss, made = self.loss_with(after[1]), after
        pick, frozen, file = made
        named = frozen.convert(**self.options)
        file = named if len(named) <= budget else file
        pairs = zip(self.names, pick, strict=True)
        rows = [Choice(name, one.name, one.bytes, one.loss) for name, one in pairs]
        few = keras.tree.map_structure(lambda array: array[:VERIFIED], self.measured_on[0])
        compile_with_loss(self.model, frozen.model, "sgd")
        report = frozen.verify(few, file=file)
        return Compacted(file, frozen.model, rows, loss, self.loss, budget, report)

    def loss_with(self, frozen: export.Frozen) -> float:
        """Loss of a frozen copy on the examples that are measured on."""
        return loss_of(self.model, frozen.model, *self.measured_on)

    def built(self, pick: Pick) -> Made:
        """The model with the forms of a pick, frozen, and its file, without names of tensors.

        Names would be in files from 64 KiB on alone, whose bytes then say little of smaller ones.

        >>> ids = keras.Input((4,), dtype="int32")
        >>> model = keras.Model(ids, keras.layers.Embedding(500, 16, name="words")(ids))
        >>> plan = Plan(model, parts_of(model), [], [])
        >>> len(plan.built((Candidate("float32", None, 32_000, 0.0),))[2]) > 32_000
        True
        """
        frozen = export.freeze(*self.with_forms(pick))
        return pick, frozen, frozen.convert(**self.options, names=False)

    def with_forms(self, pick: Pick) -> tuple[keras.Model, export.Recipe]:
        """The model with the forms of a pick, and the recipe of its kernels."""
        forms, kernels = {}, {}
        for part, one in zip(self.parts, pick, strict=False):
            if one.form is not None:
                forms[id(part.layer)] = part.replaced(one.form)
            elif not is_embedding(part.layer):
                kernels[part.layer.name] = one.name
        names = (one.name for one in pick[len(self.parts) :])
        kernels |= dict(zip(self.kernels, names, strict=True))
        return copy_with(self.model, lambda layer: forms.get(id(layer))), recipe_of(kernels)

    def _fitting(self, budget: int, joint: int) -> list[Made]:
        """The `joint` best combinations whose files fit; at least the smallest."""
        plain = tuple(_plain(candidates) for candidates in self.choices)
        picks, lengths = combinations(self.choices), Lengths(self.choices)
        picks = picks if plain in picks else [plain, *picks]
        files: dict[int, int] = {}  # place of a pick -> bytes of its file

        def built(place: int) -> Made:
            made = self.built(picks[place])
            files[place] = len(made[2])
            lengths.learn(picks[place], files[place])
            return made

        built(picks.index(plain))
        found: list[Made] = []
        for place in reversed(range(len(picks))):
            if len(found) < joint and lengths.least(picks[place]) <= budget:
                made = built(place)
                if files[place] <= budget:
                    found.append(made)
        if found:
            return found
        for place, pick in enumerate(picks):  # none fits, or one whose graph is plainer than known
            if place not in files and lengths.least(pick) < min(files.values(), default=inf):
                made = built(place)
                if files[place] <= budget:
                    return [made]
        place = min(files, key=lambda one: files[one])
        least, pick = files[place], picks[place]
        sizes = ", ".join(f"{n} {c.bytes:,}" for n, c in zip(self.names, pick, strict=True))
        rest = least - bytes_of(pick)  # graph, biases, metadata
        layers = outermost(self.model)
        whole = [one for one in layers if isinstance(one, CompactEmbedding) or has_head(one)]
        kept = ", ".join(repr(one.name) for one in whole)
        what = f" with {kept} in float32, which a recipe rounds" if kept else ""
        expected = f"at least {least:,} bytes ({sizes}, the rest {rest:,}{what})"
        return checks.fail("budget", expected, budget)

    def _tuned(self, pick: Pick, epochs: int) -> Made:
        """A pick after fine-tuning."""
        copy, recipe = self.with_forms(pick)
        fixed = {part.layer.name for part in self.parts if not part.variable.trainable}
        made = tuned(self.model, copy, recipe, *self.others, epochs, fixed)
        frozen = export.freeze(made, recipe)
        return pick, frozen, frozen.convert(**self.options, names=False)


def combinations(choices: Sequence[Sequence[Candidate]]) -> list[Pick]:
    """Picks that no other beats in bytes and in the sum of losses, the smallest first.

    Of very many, some thousands that are evenly spread are kept while parts are added.

    >>> a, b, c = (Candidate(n, None, s, l) for n, s, l in [("a", 4, 0), ("b", 1, 2), ("c", 2, 3)])
    >>> [[one.name for one in pick] for pick in combinations([[a, b, c], [a, b]])]
    [['b', 'b'], ['b', 'a'], ['a', 'a']]
    """
    found: list[tuple[int, float, Pick]] = [(0, 0.0, ())]
    for candidates in choices:
        made = [
            (size + one.bytes, loss + one.loss, (*pick, one))
            for size, loss, pick in found
            for one in candidates
        ]
        found = []
        for entry in sorted(made, key=lambda entry: entry[:2]):
            if not found or entry[1] < found[-1][1]:
                found.append(entry)
        found = found[:: -(-len(found) // MOST)]
    return [pick for _, _, pick in found]


def _plain(candidates: Sequence[Candidate]) -> Candidate:
    return next((one for one in candidates if one.name == KEPT), candidates[0])
