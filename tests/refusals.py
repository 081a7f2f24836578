"""Errors as the tests look at them: their class, and what they quote.

Whole sentences are asserted once, in tests/golden/messages.txt, so that a new wording changes one file.
"""

import pytest

from mercer.errors import InputError, MercerError


def refusal(call, *given, kind=InputError, **named):
    """The message with which a call is refused."""
    with pytest.raises(kind) as caught:
        call(*given, **named)
    assert isinstance(caught.value, MercerError)
    return str(caught.value)


def tells(message, *parts):
    """Whether a message names these parts, in this order: the thing, and the value that was got."""
    place = 0
    for part in map(str, parts):
        place = message.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True
