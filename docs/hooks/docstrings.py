"""Griffe extension: docstrings of kerascompact in the form that mkdocstrings reads.

`Args:` and `Attributes:` are Google's. Other sections are one paragraph behind their name, and
examples are doctests without indentation.
"""

import re

import griffe

_SECTION = re.compile(
    r"^(Shapes|Storage|Raises|Returns|Yields|Differs|Example|Examples|Reference|References):\s*"
)


class Docstrings(griffe.Extension):
    def on_object(self, *, obj, **kwargs):
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(docstring: str) -> str:
    """Bold names in place of one-paragraph sections, and fences around doctests."""
    lines, inside, code = [], False, False
    for line in docstring.splitlines():
        if code and not line.strip():
            lines, code = [*lines, "```"], False
        if not code and line.startswith(">>>"):
            lines, code = [*lines, "", "```pycon"], True
        section = None if code else _SECTION.match(line)
        if section:
            lines += ["", f"**{section[1]}.** {line[section.end() :]}"]
            inside = True
        elif inside and line.startswith("    ") and not code:
            lines.append(line.strip())
        else:
            inside = False
            lines.append(line)
    return "\n".join([*lines, "```"] if code else lines)
