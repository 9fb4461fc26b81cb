import pytest

from kerascompact.text.scripts import without_spaces


@pytest.mark.parametrize(
    ("text", "spaces"),
    [
        ("\u6253\u5f00\u5ba2\u5385\u7684\u706f", False),  # a query of six ideographs
        ("\u6253\u5f00\u5ba2\u5385\u7684 bluetooth \u97f3\u4e50\u64ad\u653e", False),
        ("\u6253\u5f00 \u5ba2\u5385 \u7684 \u706f", True),  # cut into words
        ("\u3053\u306e\u5e97\u306f\u826f\u3044\u3067\u3059\u3002", False),  # Japanese
        ("\u0e40\u0e1b\u0e34\u0e14\u0e40\u0e1e\u0e25\u0e07\u0e2b\u0e19\u0e48\u0e2d\u0e22", False),
        ("\u0e40\u0e1b\u0e34\u0e14 \u0e40\u0e1e\u0e25\u0e07 \u0e2b\u0e19\u0e48\u0e2d\u0e22", True),
        ("\u0db8\u0dda\u0d9a \u0dc4\u0ddc\u0db3\u0dba\u0dd2", True),  # Sinhala, beside Thai
        ("\ubd88 \ucf1c\uc918", True),  # Korean
        ("\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440", True),
        ("donaudampfschifffahrtsgesellschaft \u00fcberall", True),
        ("turn on the lights \u706f\u706f\u706f\u706f", True),
    ],
)
def test_spaces_between_words(text, spaces):
    assert without_spaces([text]) != spaces


def test_most_texts_decide():
    chinese, english = "\u6253\u5f00\u5ba2\u5385\u7684\u706f", "lights on"
    assert without_spaces([chinese, chinese, english])
    assert not without_spaces([chinese, english])
    assert not without_spaces([])
