"""Tests of the folder that `train` writes."""

import pytest

from kerascompact.tasks import folder


@pytest.mark.parametrize(
    "content", [b"play\nstop\n", b"play\r\nstop\r\n", b"\xef\xbb\xbfplay\r\nstop"]
)
def test_labels_survive_editors_and_git(tmp_path, content):
    (tmp_path / "labels.txt").write_bytes(content)
    assert folder.read_labels(tmp_path / "labels.txt") == ["play", "stop"]
