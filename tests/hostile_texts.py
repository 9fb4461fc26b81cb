"""Texts that no rule foresees, and their bytes as a file takes them."""

import numpy as np

HOSTILE = [
    "",
    " ",
    "\t\n\v\f\r ",
    "\x00",
    "a\x00b \x00\x00 c\x00",
    "\x01\x1c\x1d\x1e\x1f\x7f\x80\x85",
    "no\u00a0break \u2003em\u3000ideographic \u200bzero \u2028line\u2029paragraph",
    "\ufeffbom I\u0130\u0131i \u00c9\u00df\u1e9e \u03a3\u03c2 \u212a e\u0301 n\u0303",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3002\u4e2d\u6587\uff0c",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u0939\u093f\u0928\u094d\u0926\u0940",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 ok\U0001f44d! \U0010ffff\ufffd",
    "' '' \" ` `` 's s' n't 'LL can't've I'd've !?(),'re n' 'v 'l",
    "<pad> <unk> \\1 %s {0} <br />",
    "x" * 5000,
    "a " * 3000,
    "!?" * 3000,
    "\u00e9\u65e5" * 1000,
    "WHAT EXPRESSION Would I use, please?",
]


def padded(texts, width=None):
    """Bytes with zeros behind; a -1 keeps what ends in a zero itself."""
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    rows = [[*data, -1] if data.endswith(b"\0") else [*data] for data in encoded]
    width = max(1, *map(len, rows)) if width is None else width
    return np.array([row[:width] + [0] * (width - len(row)) for row in rows], np.int32)
