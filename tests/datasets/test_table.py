"""Tables of the user's own: what is read, how it is split, and every way to be wrong."""

import csv
import gzip
import time

import numpy as np
import pytest

from kerascompact.datasets.base import DataWarning
from kerascompact.datasets.table import load

GOOD = "text,label\n" + "".join(f"turn it {n},{'up' if n % 2 else 'down'}\n" for n in range(20))


@pytest.fixture
def write(tmp_path):
    def file(content, name="mine.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


def everything(data):
    return [
        (text, data.label_names[label])
        for split in (data.train, data.dev, data.test)
        for text, label in zip(split.texts, split.labels, strict=True)
    ]


def test_splits_in_proportion(write):
    data = load(write(GOOD), dev=0.2, test=0.3)
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [10, 4, 6]
    for split in (data.train, data.dev, data.test):
        assert np.ptp(np.bincount(split.labels)) == 0
        assert split.labels.dtype == np.int32
    assert data.label_names == ("down", "up")
    assert data.name == "mine.csv" and data.about == "mine.csv: 20 rows."
    wanted = [tuple(line.split(",")) for line in GOOD.splitlines()[1:]]
    assert sorted(everything(data)) == sorted(wanted)


def test_is_seeded(write):
    path = write(GOOD)
    first, again, other = (load(path, seed=seed, test=0.3).test.texts for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("ending", [".csv", ".CSV", ".csv.gz", ".tsv", ".tsv.gz"])
def test_endings(write, ending):
    content = (GOOD.replace(",", "\t") if "tsv" in ending else GOOD).encode()
    path = write(gzip.compress(content) if ending.endswith("gz") else content, f"mine.v2{ending}")
    assert len(everything(load(path))) == 20


def test_quotes_line_breaks_and_marks(write, tmp_path):
    texts = ['say "hi", now', "two\nlines", " caf\u00e9 \u2028 \u85e4 ", "a\tb", "'"] * 2
    path = tmp_path / "quoted.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", "text"])
        writer.writerows([n, " yes" if n % 2 else "no ", text] for n, text in enumerate(texts))
    data = load(path)
    assert sorted(text for text, _ in everything(data)) == sorted(texts)
    assert data.label_names == ("no", "yes")


def test_a_quote_in_a_tsv_is_a_character(write):
    content = "text\tlabel\n" + '"so they said\tyes\nhe said "no"\tno\n' * 5
    texts = {text for text, _ in everything(load(write(content, "a.tsv")))}
    assert texts == {'"so they said', 'he said "no"'}


def test_other_columns_blank_lines_and_windows_line_ends(write):
    content = GOOD.replace("text,label", "Utterance,Intent").replace("\n", "\r\n") + "\r\n\r\n"
    for before in ("", "\r\n\r\n"):
        found = load(write(before + content), text="Utterance", label="Intent")
        assert len(everything(found)) == 20


@pytest.mark.parametrize(
    ("labels", "names"),
    [(("10", "9", "1"), ("1", "9", "10")), (("b", "10", "9"), ("10", "9", "b"))],
)
def test_label_order(write, labels, names):
    content = "text,label\n" + "".join(f"x,{label}\n" for label in labels * 5)
    assert load(write(content)).label_names == names


def test_a_rare_class_stays_in_train(write):
    data = load(write(GOOD + "what,rare\n"))
    assert np.bincount(data.train.labels).tolist()[1] == 1
    assert 1 not in data.dev.labels and 1 not in data.test.labels


def test_test_path(write):
    path, other = write(GOOD), write("label,text\nup,more\ndown,less\n", "test.csv")
    data = load(path, test_path=other)
    assert data.test.texts == ["more", "less"]
    assert data.test.labels.tolist() == [1, 0]
    assert len(data.train.texts) == 18 and len(data.dev.texts) == 2


def test_dev_and_test_of_their_own(write):
    dev = write("label,text\nup,more\n", "dev.csv")
    test = write("id,label,text\n1,down,less\n2,up,more\n", "test.csv")
    data = load(write(GOOD), dev_path=dev, test_path=test)
    assert (data.dev.texts, data.dev.labels.tolist()) == (["more"], [1])
    assert (data.test.texts, data.test.labels.tolist()) == (["less", "more"], [0, 1])
    assert len(data.train.texts) == 20
    assert len(load(write(GOOD), dev_path=dev).test.texts) == 2


@pytest.mark.parametrize("separator", [None, ";"])
def test_no_test_split(write, separator):
    data = load(write(GOOD), test=0, separator=separator)
    assert len(data.train.texts) == 18 and len(data.dev.texts) == 2
    assert data.test.texts == [] and len(data.test.labels) == 0
    assert data.test.labels.shape[1:] == data.train.labels.shape[1:]
    assert data.test.labels.dtype == data.train.labels.dtype


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_csv_with_other_delimiters(write, delimiter):
    content = GOOD.replace(",", delimiter).replace("text", '"text"', 1)
    content += f'"a; b, c\td"{delimiter}up\n'
    texts = {text for text, _ in everything(load(write(content)))}
    assert "a; b, c\td" in texts and len(texts) == 21


@pytest.mark.parametrize("content", [' ,up\n"\n",up\nx,\n', ",up\nx, \n,\n"])
def test_empty_cells_are_left_out(write, content):
    with pytest.warns(DataWarning, match=r"mine\.csv: 3 of 23 rows .* first in line 22; they are"):
        data = load(write(GOOD + content))
    assert len(everything(data)) == 20
    with pytest.warns(DataWarning, match=r"test\.csv: 1 of 2 rows .* first in line 3"):
        load(write(GOOD), test_path=write("text,label\nx,up\n,up\n", "test.csv"))


def test_several_labels_in_a_cell(write):
    rows = ["a,red| blue", 'b,"blue|red||blue"', "c,", "d,green", "e,red"] * 6
    data = load(write("text,label\n" + "\n".join(rows)), separator="|")
    assert data.multi_label and data.label_names == ("blue", "green", "red")
    sets = {"a": [1, 0, 1], "b": [1, 0, 1], "c": [0, 0, 0], "d": [0, 1, 0], "e": [0, 0, 1]}
    for split, count in ((data.train, 24), (data.dev, 3), (data.test, 3)):
        assert split.labels.dtype == np.uint8 and len(split.texts) == count
        assert split.labels.tolist() == [sets[text] for text in split.texts]
    assert not load(write(GOOD)).multi_label


@pytest.mark.parametrize("separator", ["", 3, b";"])
def test_rejects_separators(write, separator):
    with pytest.raises(ValueError, match="`separator` must be a character or a few"):
        load(write(GOOD), separator=separator)


def test_a_large_table_is_read_and_split_quickly(write):
    words = [f"word{n % 97} and some more of these words to be read" for n in range(50_000)]
    path = write("text,label\n" + "".join(f"{w},{n % 1000}\n" for n, w in enumerate(words)))
    start = time.perf_counter()
    data = load(path)
    assert time.perf_counter() - start < 2  # 0.1 s on a free core
    assert len(data.train.texts) == 40_000 and len(data.label_names) == 1000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\ufeff \n\n", "is empty"),
        ("text,label\n", "has a header and no rows"),
        ("a,b\n1,2\n", "has no column 'text'. Its columns are 'a', 'b'"),
        ('"a","b"\n"1, 2",2\n', "has no column 'text'. Its columns are 'a', 'b'"),
        ('"a";"b"\n"1; 2";2\n', "has no column 'text'. Its columns are 'a', 'b'"),
        ("text,b\n1,2\n", "has no column 'label'. Its columns are 'text', 'b'"),
        ("text,text,label\n1,2,3\n", "has two columns 'text'"),
        (GOOD + ",\n" * 21, "21 of 41 rows have an empty text.*first in line 22.*more than half"),
        (GOOD + "only\n", "line 22: 1 fields, but the header has 2"),
        (GOOD + "a,b,c\n", "line 22: 3 fields, but the header has 2"),
        (GOOD + '"open,up\n', "line 22: unexpected end of data"),
        (GOOD + '"a"b,up\n', "line 22: ',' expected after '\"'"),
        ('text,"label"x\n', "line 1: ',' expected after '\"'"),
        ('"text,label\n', "line 1: unexpected end of data"),
        (GOOD.encode() + b"caf\xe9,up\n", "line 22: not UTF-8 text .*as UTF-8"),
        (GOOD.encode() + b"a\x00b,up\n", "line 22: a NUL byte"),
        (GOOD.encode("utf-16"), "UTF-16 text. Save it as UTF-8"),
        ("text,label\na,up\nb,up\n", r"at least 2 classes. Received: 1 \('up'\)"),
        (
            "text,label\na,up\nb,down\n",
            "2 rows of 2 classes are too few to hold out any for dev an",
        ),
        ("text,label\na,up\nb,down\nc,up\n", "3 rows .* any for dev and test: train needs one of"),
        ('text;label\n"a;up\n', "line 2: unexpected end of data"),
    ],
)
def test_rejects_content(write, content, message):
    with pytest.raises(ValueError, match=rf"mine\.csv.*{message}"):
        load(write(content))


def test_a_long_text(write):
    limit = csv.field_size_limit()
    assert max(map(len, load(write(GOOD + "x" * 200_000 + ",up\n")).train.texts)) == 200_000
    assert csv.field_size_limit() == limit


def test_rejects_files(write, tmp_path):
    with pytest.raises(ValueError, match=r"There is no file .*none\.csv"):
        load(tmp_path / "none.csv")
    for name in ("mine.txt", "mine", "mine.gz", "csv"):
        with pytest.raises(ValueError, match=r"`path` must be a file that ends in \.csv, \.tsv"):
            load(write(GOOD, name))
    with pytest.raises(ValueError, match=r"mine\.csv\.gz cannot be unpacked"):
        load(write(GOOD, "mine.csv.gz"))


def test_rejects_a_new_label_in_test(write):
    other = write("text,label\nx,up\ny,left\n", "test.csv")
    message = (
        r"test\.csv, line 3: label 'left' does not occur in train, whose labels are 'down', 'up'"
    )
    for options in (
        {"test_path": other},
        {"dev_path": other},
        {"dev_path": other, "separator": ";"},
    ):
        with pytest.raises(ValueError, match=message):
            load(write(GOOD), **options)


@pytest.mark.parametrize("share", [-0.1, 0.95, 1, "0.1", None, True])
@pytest.mark.parametrize(("name", "opens"), [("dev", r"\("), ("test", r"\[")])
def test_rejects_shares(write, name, opens, share):
    with pytest.raises(ValueError, match=rf"`{name}` must be a number in {opens}0, 0.9\]"):
        load(write(GOOD), **{name: share})


def test_dev_may_not_be_empty(write):
    with pytest.raises(ValueError, match=r"`dev` must be a number in \(0, 0.9\]"):
        load(write(GOOD), dev=0)


def test_rejects_shares_that_leave_nothing(write):
    with pytest.raises(ValueError, match=r"`dev` must be below 0.4, with `test` 0.6"):
        load(write(GOOD), dev=0.5, test=0.6)


def test_many_classes_of_few_rows_hold_out_fewer(write):
    labels = [*range(180), *range(20)]
    path = write("text,label\n" + "".join(f"text {n},{c}\n" for n, c in enumerate(labels)))
    message = "200 rows of 180 classes: held out are 10 of 20 rows for dev and 10 of 20 rows for te"
    with pytest.warns(DataWarning, match=message):
        data = load(path)
    assert [len(s.texts) for s in (data.train, data.dev, data.test)] == [180, 10, 10]
    assert len(set(data.train.labels.tolist())) == 180
    with pytest.warns(DataWarning, match="20 of 100 rows for dev, since"):
        assert len(load(path, dev=0.5, test=0).dev.texts) == 20
    with pytest.warns(DataWarning, match="4 of 20 rows for dev and 16 of 80 rows for test"):
        assert len(load(path, dev=0.1, test=0.4).test.texts) == 16
