"""What the docstring of a public name lacks."""

import inspect
import re

import keras

from kerascompact.compress.base import Compressor
from kerascompact.forms.base import Form

VAGUE = {"of", "as", "see", "those", "from"}
SECTION = re.compile(
    r"^(Args|Attributes|Shapes|Storage|Returns|Raises|Example|Reference|Differs)\b.*?:", re.M
)


def sections(text):
    """The parts of a docstring by name; "" is what comes before the first section."""
    found, name, start = {}, "", 0
    for match in SECTION.finditer(text):
        found[name] = found.get(name, "") + text[start : match.start()]
        name, start = match.group(1), match.end()
    found[name] = found.get(name, "") + text[start:]
    return found


def entries(text):
    """Arguments and their descriptions, from the text of the section `Args`."""
    found, current = {}, []
    for line in text.splitlines():
        match = re.match(r"^ {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*): ?(.*)", line)
        if match:
            current = [name.lstrip("*") for name in match.group(1).split(", ")]
            found |= dict.fromkeys(current, match.group(2))
        elif line.startswith(" " * 8):
            for name in current:
                found[name] += " " + line.strip()
        elif line.strip():
            current = []
    return found


def ours(function):
    """Whether a function is written in this package."""
    module = getattr(function, "__module__", None) or ""
    return inspect.isfunction(function) and module.startswith("kerascompact")


def parameters(thing):
    """Names of the arguments; none of a class whose `__init__` is Keras' own."""
    if inspect.isclass(thing) and not ours(thing.__init__) and not hasattr(thing, "_fields"):
        return []
    return [name for name in inspect.signature(thing).parameters if name[0] != "_"]


def validates(thing):
    """Whether a call of it, or its `__init__`, checks an argument or raises an error."""
    functions = [thing]
    if inspect.isclass(thing):
        names = ("__init__", "__post_init__")
        functions = [
            vars(base)[name] for base in thing.__mro__ for name in names & vars(base).keys()
        ]
    return any(
        re.search(r"\bchecks\.|\braise ", inspect.getsource(function))
        for function in functions
        if ours(function) and function.__code__.co_filename[0] != "<"  # not of a dataclass
    )


def returns(thing):
    """Whether it is a function with a result."""
    result = inspect.signature(thing).return_annotation
    return inspect.isfunction(thing) and result not in (None, "None", inspect.Signature.empty)


def lacks(thing):
    """Arguments without a description of three words, and sections that are missing."""
    text = inspect.cleandoc(thing.__doc__ or "")
    parts = sections(text)
    described = entries(parts.get("Attributes", "")) | entries(parts.get("Args", ""))
    missing = []
    for name in parameters(thing):
        words = described.get(name, "").split()
        if len(words) < 3 or words[0].lower() in VAGUE:
            missing.append(name)
    is_layer = inspect.isclass(thing) and issubclass(thing, keras.layers.Layer)
    is_compressor = inspect.isclass(thing) and issubclass(thing, Compressor)
    is_form = inspect.isclass(thing) and issubclass(thing, Form)  # a format, of no paper
    if (is_layer or returns(thing)) and not {"Returns", "Shapes"} & set(parts):
        missing.append("Returns")
    if validates(thing) and "Raises" not in parts:
        missing.append("Raises")
    if ">>>" not in text:
        missing.append("Example")
    if (is_layer or is_compressor) and not is_form and "Reference" not in parts:
        missing.append("Reference")
    return missing
