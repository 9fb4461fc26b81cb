"""Trimmed vocabularies: the same tokens and outputs on texts inside the kept set."""

import functools
import io

import keras
import numpy as np
import pytest

from kerascompact import datasets
from kerascompact.compress import trim_vocabulary
from kerascompact.compress.vocabulary import with_rows
from kerascompact.core.extras import require
from kerascompact.text.subwords import token_counts, tokens_of, with_tokens

tokenizers = pytest.importorskip("tokenizers", reason="pip install 'kerascompact[vectors]'")
TEXTS = datasets.load("clinc150").train.texts[:600]
GIVEN, SIZE = TEXTS[:60], 300
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@functools.cache
def trained(kind):
    """A tokenizer of the package `tokenizers`, trained on the texts."""
    models, trainers = tokenizers.models, tokenizers.trainers
    made = {
        "WordPiece": (models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer),
        "BPE": (models.BPE(unk_token="[UNK]"), trainers.BpeTrainer),
        "Unigram": (models.Unigram(), trainers.UnigramTrainer),
    }[kind]
    tokenizer = tokenizers.Tokenizer(made[0])
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    more = {"unk_token": "[UNK]"} if kind == "Unigram" else {}
    trainer = made[1](vocab_size=SIZE, special_tokens=SPECIAL, show_progress=False, **more)
    tokenizer.train_from_iterator(TEXTS, trainer)
    if kind == "WordPiece":
        ids = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            "[CLS] $0 [SEP]", special_tokens=ids
        )
    return tokenizer


def classifier(size, width=8):
    ids = keras.Input((None,), dtype="int32")
    states = keras.layers.Embedding(size, width, mask_zero=True)(ids)
    states = keras.layers.Dense(size, "tanh")(states)  # as wide as the vocabulary, by chance
    return keras.Model(ids, keras.layers.Dense(size, name="logits")(states))


def inside(rows, ids):
    """Texts all of whose old tokens are kept."""
    kept = {*ids.tolist()}
    return [place for place, row in enumerate(rows) if kept >= {*row}]


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["WordPiece", "BPE", "Unigram"])
@pytest.mark.parametrize("keep", [None, 40])
def test_of_tokenizers(kind, keep):
    whole = trained(kind)
    size = whole.get_vocab_size()
    model = classifier(size)
    small = trim_vocabulary(model, whole, GIVEN, keep)
    assert small.tokenizer.get_vocab_size() == len(small.ids) < size
    names = tokens_of(whole)
    assert tokens_of(small.tokenizer) == [names[i] for i in small.ids]
    rows = [one.ids for one in whole.encode_batch(TEXTS)]
    places = inside(rows, small.ids)
    assert len(places) >= (60 if keep is None else 1) and (keep is None or len(places) < 600)
    found = [one.ids for one in small.tokenizer.encode_batch([TEXTS[i] for i in places])]
    for place, new in zip(places, found, strict=True):
        assert small.ids[new].tolist() == rows[place]
    # The model reads each token alone: all texts can be one.
    new, old = (np.array([sum(ids, [])]) for ids in (found, [rows[place] for place in places]))
    wanted = np.asarray(model(old))[..., small.ids]
    np.testing.assert_allclose(small.model(new), wanted, atol=1e-6)
    small.tokenizer.encode_batch(TEXTS)  # all others are split in some way
    assert small.model.count_params() < model.count_params()


def hub():
    return pytest.importorskip("keras_hub", "0.32", reason="pip install 'kerascompact[hub]'").models


def piece(kind):
    """A tokenizer and a model of keras-hub."""
    models = hub()
    sizes = dict(num_layers=1, hidden_dim=16, intermediate_dim=16)
    keras.utils.set_random_seed(0)
    if kind == "WordPiece":
        tokenizer = models.BertTokenizer(tokens_of(trained("WordPiece")), lowercase=True)
        size = tokenizer.vocabulary_size()
        backbone = models.BertBackbone(size, num_heads=2, max_sequence_length=64, **sizes)
        return tokenizer, models.BertMaskedLM(backbone, None)
    if kind == "BPE":
        made = tokenizers.ByteLevelBPETokenizer()
        made.train_from_iterator(TEXTS, 400, show_progress=False, special_tokens=["<|endoftext|>"])
        facts = __import__("json").loads(made.to_str())["model"]
        merges = [" ".join(one) for one in facts["merges"]]
        tokenizer = models.GPT2Tokenizer(facts["vocab"], merges)
        size = tokenizer.vocabulary_size()
        backbone = models.GPT2Backbone(size, num_heads=2, max_sequence_length=64, **sizes)
        return tokenizer, models.GPT2CausalLM(backbone, None)
    written = io.BytesIO()
    train = require("sentencepiece", "hub").SentencePieceTrainer.train
    ids = dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3)
    pieces = dict(pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", unk_piece="<unk>")
    specials = ["<start_of_turn>", "<end_of_turn>"]
    train(
        sentence_iterator=iter(TEXTS), model_writer=written, vocab_size=300, minloglevel=2,
        model_type="bpe", user_defined_symbols=specials, **ids, **pieces,
    )  # fmt: skip
    tokenizer = models.GemmaTokenizer(written.getvalue())
    grouped = dict(num_query_heads=2, num_key_value_heads=1, head_dim=8)
    backbone = models.GemmaBackbone(tokenizer.vocabulary_size(), **grouped, **sizes)
    return tokenizer, models.GemmaCausalLM(backbone, None)


@pytest.mark.slow  # the preprocessor below is a short one
# One with the tokens of WordPiece is below.
@pytest.mark.parametrize(
    "kind",
    [
        "BPE",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("WordPiece", "SentencePiece")),
    ],
)
def test_of_keras_hub(kind, tmp_path):
    tokenizer, model = piece(kind)
    small = trim_vocabulary(model, tokenizer, GIVEN)
    assert type(small.tokenizer) is type(tokenizer) and type(small.model) is type(model)
    assert small.model.backbone.vocabulary_size == len(small.ids) < tokenizer.vocabulary_size()
    assert small.tokenizer.vocabulary_size() == len(small.ids)

    def split(one):
        found = one(TEXTS)
        return found.to_list() if hasattr(found, "to_list") else [list(row) for row in found]

    rows, new = split(tokenizer), split(small.tokenizer)
    places = inside(rows, small.ids)
    assert len(places) >= 60
    for place in places:
        assert small.ids[new[place]].tolist() == [*rows[place]]

    def logits(one, row):
        row = np.array([row])
        given = {name: np.ones_like(row) for name in one.input if name != "token_ids"}
        if "mask_positions" in given:
            given["mask_positions"] = np.array([[1, 0]])
        return np.asarray(one({**given, "token_ids": row}))

    for place in places[:2]:
        wanted = logits(model, rows[place])[..., small.ids]
        np.testing.assert_allclose(logits(small.model, new[place]), wanted, atol=1e-6)
    small.model.save(tmp_path / "small.keras")
    loaded = keras.models.load_model(tmp_path / "small.keras")
    np.testing.assert_array_equal(
        logits(loaded, new[places[0]]), logits(small.model, new[places[0]])
    )


@functools.cache
def unigram(**ids):
    written = io.BytesIO()
    train = require("sentencepiece", "hub").SentencePieceTrainer.train
    train(sentence_iterator=iter(TEXTS), model_writer=written, vocab_size=300, minloglevel=2, **ids)
    return written.getvalue()


BERTS = {name: f"[{name[:3].upper()}]" for name in ("pad_piece", "unk_piece")}
BERTS |= {"bos_piece": "[CLS]", "eos_piece": "[SEP]"}
NUMBERS = dict(pad_id=0, bos_id=1, eos_id=2, unk_id=3)


@pytest.mark.parametrize("name", ["XLMRoberta", "DebertaV3"])
def test_ids_that_are_no_places_of_pieces(name):
    """Those of XLM-RoBERTa are one further; both have tokens that are no pieces."""
    options = {**NUMBERS, **BERTS} if name == "DebertaV3" else dict(unk_id=0, bos_id=1, eos_id=2)
    tokenizer = getattr(hub(), f"{name}Tokenizer")(unigram(**options))
    size, names = tokenizer.vocabulary_size(), tokens_of(tokenizer)
    counts = token_counts(tokenizer, GIVEN[:20], size)
    small, ids = with_tokens(tokenizer, np.flatnonzero(counts))
    assert tokens_of(small) == [names[i] for i in ids] and 100 < len(ids) < size
    assert {"<mask>", "[MASK]"} & {names[ids[-1]]}
    rows, new = ([list(row) for row in one(TEXTS)] for one in (tokenizer, small))
    places = inside(rows, ids)
    assert len(places) >= 20 and all(ids[new[place]].tolist() == rows[place] for place in places)
    backbone = getattr(hub(), f"{name}Backbone")
    more = {"bucket_size": 8} if name == "DebertaV3" else {}
    sizes = dict(num_layers=1, hidden_dim=8, intermediate_dim=8, num_heads=2, **more)
    model = backbone(vocabulary_size=size, max_sequence_length=32, **sizes)
    trimmed = trim_vocabulary(model, tokenizer, GIVEN[:20])
    assert trimmed.ids.tolist() == ids.tolist()
    found, wanted = (
        one({"token_ids": np.array([row]), "padding_mask": np.ones((1, len(row)))})
        for one, row in ((trimmed.model, new[0]), (model, rows[0]))
    )
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_unknown_letters_cost_what_they_did():
    """An unknown letter has the smallest score less 10: 'a' and 'bab' must not become cheaper."""
    pieces = [("<unk>", 0.0), ("ab", -15.0), ("bab", -1.0), ("b", -3.0), ("c", -20.0), ("d", -4.0)]
    whole = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0, False))
    small, ids = with_tokens(whole, [1, 2])
    assert ids.tolist() == [0, 1, 2, 3, 4]  # with "b", a letter of both, and the unlikely "c"
    for one in (whole, small):
        assert one.encode("abab").tokens == ["ab", "ab"]


def test_refuses_what_does_not_fit():
    whole = trained("BPE")
    size = whole.get_vocab_size()
    for arguments, name in (
        ((classifier(size + 1), whole, GIVEN), "model"),
        ((classifier(size), whole, "a text"), "texts"),
        ((classifier(size), whole, GIVEN, 0), "keep"),
        ((classifier(size), object(), GIVEN), "tokenizer"),
    ):
        with pytest.raises(ValueError, match=f"`{name}` must be"):
            trim_vocabulary(*arguments)


class WordsAndPlaces(keras.layers.Layer):
    """Tables inside a layer: no graph tells which of them reads the tokens."""

    def __init__(self, size):
        super().__init__()
        self.words = keras.layers.Embedding(size, 3, name="words")
        self.places = keras.layers.Embedding(size, 3, name="places")

    def call(self, ids):
        return self.words(ids) + self.places(keras.ops.arange(ids.shape[1]))


def test_tables_of_several_inputs_and_of_positions():
    kept = np.array([0, 2, 3])
    one, two = (keras.Input((3,), dtype="int32", name=name) for name in ("one", "two"))
    tables = [keras.layers.Embedding(4, 3, name=name) for name in ("a", "b")]
    both = keras.Model([one, two], tables[0](one) + tables[1](two))
    inside = keras.Model(one, WordsAndPlaces(4)(one))
    for model in (both, inside):
        with pytest.raises(ValueError, match="`layers` must name the tables of tokens"):
            with_rows(model, kept, 4)
    given = np.array([[0, 1, 2], [2, 2, 0]])
    small = with_rows(both, kept, 4, ["a", "b"])
    np.testing.assert_allclose(small([given, given[::-1]]), both([kept[given], kept[given[::-1]]]))
    np.testing.assert_allclose(with_rows(inside, kept, 4, "words")(given), inside(kept[given]))


def words_and_head(after, size=4):
    ids = keras.Input((2,), dtype="int32", name="ids")
    states = keras.layers.Embedding(size, 3)(ids)
    return keras.Model(ids, after(states, size))


@pytest.mark.parametrize(
    "after",
    [
        lambda x, size: keras.layers.Softmax()(keras.layers.Dense(size)(x)),
        lambda x, size: keras.layers.TimeDistributed(keras.layers.Dense(size))(x),
        lambda x, size: keras.Sequential([keras.Input((2, 3)), keras.layers.Dense(size)])(x),
        lambda x, size: keras.ops.cast(keras.layers.Dense(size)(x) / 2, "float32"),
        lambda x, size: keras.ops.max(keras.ops.relu(keras.layers.Dense(size)(x)), axis=1),
        lambda x, size: keras.layers.Dense(size)(x)[:, -1],
        # two heads, and a number for all of their logits
        lambda x, size: (keras.layers.Dense(size)(x) + keras.layers.Dense(size)(-x)) * x[..., :1],
    ],
)
def test_heads_are_found_before_activations_in_time_and_inside(after):
    model, ids = words_and_head(after), np.array([0, 1, 3])
    small = with_rows(model, ids, 4)
    wanted = np.asarray(model(ids[None, 1:]))[..., ids]
    if isinstance(model.layers[-1], keras.layers.Softmax):
        wanted /= wanted.sum(-1, keepdims=True)
    np.testing.assert_allclose(small(np.array([[1, 2]])), wanted, atol=1e-6)


def test_logits_that_cannot_be_left_out_are_refused():
    model = words_and_head(lambda x, size: keras.layers.LayerNormalization(name="last")(
        keras.layers.Dense(size)(x)))  # fmt: skip
    with pytest.raises(ValueError, match=r"its outputs of 4 numbers by a Dense.*of \['last'\]"):
        with_rows(model, np.array([0, 1, 3]), 4)


def test_every_token_may_stay():
    model = words_and_head(lambda x, size: keras.layers.Dense(size)(x))
    given = np.array([[1, 3]])
    np.testing.assert_array_equal(with_rows(model, np.arange(4), 4)(given), model(given))


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", ["one_hot", "multi_hot", "CategoryEncoding"])
def test_ids_that_are_columns_are_refused(name, inside):
    encode = keras.layers.CategoryEncoding(4)
    encode = encode if name == "CategoryEncoding" else lambda x: getattr(keras.ops, name)(x, 4)
    tokens, other = (keras.Input((2,), dtype="int32", name=one) for one in ("tokens", "other"))
    table = keras.layers.Embedding(4, 3)

    def marked(x):
        made = keras.layers.Dense(2)(encode(x))
        return keras.ops.mean(made, axis=1) if name == "one_hot" else made

    both = [keras.ops.mean(table(tokens), axis=1), marked(tokens)]
    model = keras.Model(tokens, both)
    if inside:
        again = keras.Input((2,), dtype="int32")
        model = keras.Model(again, model(again))
    with pytest.raises(ValueError, match="`model` must be one that reads its 4 tokens by tables"):
        with_rows(model, np.array([0, 1, 3]), 4)
    if not inside:  # of another input, which has four ids, too
        model = keras.Model([tokens, other], [both[0], marked(other)])
        assert with_rows(model, np.array([0, 1, 3]), 4).count_params() < model.count_params()


@pytest.mark.parametrize(("place", "mode"), [(1, "int8"), (2, "int4")])
def test_quantized_tables_and_heads_are_refused(place, mode):
    model = words_and_head(lambda x, size: keras.layers.Dense(size)(x))
    layer = model.layers[place]
    layer.quantize(mode)
    with pytest.raises(ValueError, match=f"before its tables and heads are qu.*'{layer.name}' of"):
        with_rows(model, np.array([0, 1, 3]), 4)


@pytest.mark.parametrize("ties", [None, True, False])
def test_a_table_under_lora_keeps_what_was_trained(ties):
    size, inputs = 5, keras.Input((2,), dtype="int32")
    kind = keras.layers.Embedding if ties is None else keras.layers.ReversibleEmbedding
    table = kind(size, size, **({} if ties is None else {"tie_weights": ties}))  # d = V
    states = table(inputs)
    model = keras.Model(inputs, states if ties is None else table(states, reverse=True))
    table.enable_lora(3)
    for place, weight in enumerate(table.trainable_weights):
        weight.assign(np.random.default_rng(place).normal(size=weight.shape))
    ids = np.array([0, 1, 4])
    wanted = np.asarray(model(ids[None, 1:]))
    wanted = wanted if ties is None else wanted[..., ids]
    np.testing.assert_allclose(with_rows(model, ids, size)(np.array([[1, 2]])), wanted, atol=1e-5)


@pytest.mark.parametrize("names", [["words", "other"], "word", []])
def test_names_of_other_layers_are_refused(names):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Embedding(4, 3, name="words")])
    with pytest.raises(ValueError, match="`layers` must be names of its embeddings of 4 rows, 'wo"):
        with_rows(model, np.array([0, 1]), 4, names)
    assert with_rows(model, np.array([0, 1]), 4, "words").layers[0].input_dim == 2


def test_tables_of_other_inputs_are_left_if_layers_says_so():
    tokens, users = (keras.Input((2,), dtype="int32", name=name) for name in ("tokens", "users"))
    made = [keras.layers.Embedding(4, 3, name=f"of_{x.name}")(x) for x in (tokens, users)]
    model, ids = keras.Model([tokens, users], keras.layers.Add()(made)), np.array([0, 1, 3])
    with pytest.raises(ValueError, match=r"`layers` must name.*'of_users': \['users'\]"):
        with_rows(model, ids, 4)
    small = with_rows(model, ids, 4, ["of_tokens"])
    found = small([np.array([[1, 2]]), np.array([[2, 3]])])
    np.testing.assert_allclose(found, model([np.array([[1, 3]]), np.array([[2, 3]])]), atol=1e-6)


def test_letters_that_end_a_word_are_others():
    models = tokenizers.models
    tokens = ["?", "a", "b", "a</w>", "b</w>", "ab</w>", "c</w>", "ba"]
    merges = [("a", "b</w>"), ("b", "a")]
    ids = {token: i for i, token in enumerate(tokens)}
    whole = tokenizers.Tokenizer(models.BPE(ids, merges, unk_token="?", end_of_word_suffix="</w>"))
    whole.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    small, kept = with_tokens(whole, [ids["ab</w>"]])
    assert whole.encode("ab a").tokens == small.encode("ab a").tokens == ["ab</w>", "a</w>"]
    assert [tokens[i] for i in kept] == ["?", "a", "b", "a</w>", "b</w>", "ab</w>", "c</w>"]
    inner = {"?": 0, "a": 1, "##b": 2, "##c": 3, "ab": 4, "##bc": 5}
    marked = models.BPE(inner, [("a", "##b"), ("##b", "##c")], continuing_subword_prefix="##")
    whole = tokenizers.Tokenizer(marked)
    assert tokens_of(with_tokens(whole, [4])[0]) == ["?", "a", "##b", "##c", "ab"]
    inner = {"?": 0, "#": 1, "###": 2, "a": 3, "##": 4}  # "##" starts a word, "###" ends another
    marked = models.BPE(inner, [("#", "###"), ("##", "###")], continuing_subword_prefix="##")
    whole = tokenizers.Tokenizer(marked)
    small, _ = with_tokens(whole, [4])
    for text, expected in {"##": ["##"], "###": ["###"], "a#": ["a", "###"]}.items():
        assert whole.encode(text).tokens == small.encode(text).tokens == expected


def test_ids_that_are_left_out_are_refused():  # the token of id 3 would be taken for that of 2
    ids = {"[UNK]": 0, "a": 1, "b": 3, "c": 5}
    whole = tokenizers.Tokenizer(tokenizers.models.WordPiece(ids, unk_token="[UNK]"))
    with pytest.raises(ValueError, match=r"`tokenizer` must be one with ids 0, 1, .* none is 2"):
        trim_vocabulary(classifier(4), whole, ["a b"])


def test_padding_truncation_and_bytes_of_a_tokenizer():
    pieces = [("<unk>", 0.0), ("a", -1.0), ("b", -2.0), ("ab", -1.0), ("<0xC3>", -9.0)]
    whole = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0, True))
    whole.add_special_tokens(["<pad>"])
    whole.enable_padding(pad_id=5, pad_token="<pad>")
    whole.enable_truncation(1)
    assert token_counts(whole, ["ab", "aab"], 6).tolist() == [0, 1, 0, 2, 0, 0]
    small, kept = with_tokens(whole, [1])
    assert kept.tolist() == [0, 1, 4, 5] and small.padding["pad_id"] == 3
    nameless = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces[1:3]))
    assert with_tokens(nameless, [0])[1].tolist() == [0]


def test_the_preprocessor_cuts_with_the_new_tokenizer():
    tokenizer, model = piece("WordPiece")
    preprocessor = hub().BertTextClassifierPreprocessor(tokenizer, sequence_length=16)
    whole = hub().BertTextClassifier(model.backbone, 3, preprocessor)
    small = trim_vocabulary(whole, tokenizer, GIVEN)
    assert small.model.preprocessor.tokenizer.vocabulary_size() == len(small.ids)
    found, wanted = (one(one.preprocessor(GIVEN[:2])) for one in (small.model, whole))
    np.testing.assert_allclose(found, wanted, atol=1e-5)
