# SPDX-License-Identifier: Apache-2.0
"""What messages say of the caller's values: short, on one line, without addresses."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable
from typing import Protocol

from .. import _core

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]*")
_ELEMENTS_SHOWN = 4
_CHARS_SHOWN = 80  # of the core's shortened(), too


class _Shaped(Protocol):
    """An array of some library."""

    @property
    def dtype(self) -> object: ...

    @property
    def shape(self) -> Iterable[object]: ...


class _Short(reprlib.Repr):
    """Looks at no more of a value than a message can show."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 8
        self.maxdict = self.maxarray = 6
        self.maxlevel = 4
        self.maxstring = self.maxother = self.maxlong = _CHARS_SHOWN

    def repr1(self, x: object, level: int) -> str:
        if hasattr(x, "dtype") and hasattr(x, "shape"):
            return _array(x)
        return super().repr1(x, level)


def _array(array: _Shaped) -> str:
    import numpy as np  # which not every program has use for

    if isinstance(array, np.generic):
        return repr(array.item())
    kind = "an array" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
    if isinstance(array, np.ndarray) and array.ndim and 0 < array.size <= _ELEMENTS_SHOWN:
        return f"{kind} of {array.dtype}, {array.tolist()}"
    return f"{kind} of {array.dtype}, shape {tuple(array.shape)}"


_SHORT = _Short()


def shown(value: object) -> str:
    """Return what a message says of a value: at most 80 characters, whatever the value is.

    >>> shown("mean"), shown(object()), len(shown("x" * 1000))
    ("'mean'", '<object object>', 80)
    >>> import numpy as np
    >>> shown(np.zeros((1000, 3)))
    'an array of float64, shape (1000, 3)'
    """
    try:
        text = _SHORT.repr(value)
    except Exception:  # the value's own repr
        text = f"an object of {type(value).__name__}"
    return shown_text(text)


def without_addresses(text: str) -> str:
    """Return text without addresses in memory, in which ranks always differ."""
    return _ADDRESS.sub("", text)


def shown_text(text: str) -> str:
    """Return text on one line, without addresses, shortened to 80 characters."""
    line = without_addresses(" ".join(text.split()))
    return _core.shortened(line.encode(errors="replace").decode())


def shown_path(path: str) -> str:
    r"""Return a whole path, to be compared with what is on the disk; on one line.

    >>> len(shown_path("/scratch/" * 100)), shown_path("two\nlines.h5")
    (900, 'two\\nlines.h5')
    """
    return path if path.isprintable() else repr(path)[1:-1]


def said_of(error: BaseException) -> str:
    r"""Return what other ranks are told of an exception, in text that UTF-8 can encode.

    >>> said_of(FileNotFoundError("caf\udce9.dat"))
    'FileNotFoundError: caf\\udce9.dat'
    """
    try:
        text = str(error)
    except Exception:  # the exception's own str
        text = "what it says cannot be had, for its str() raises"
    return f"{type(error).__name__}: {text}".encode(errors="backslashreplace").decode()


def shown_difference(text: str, other: str) -> tuple[str, str]:
    """Return two texts as `shown_text` has them, long ones from the item on in which they differ.

    >>> items = ", ".join(f"option_{i}=None" for i in range(10))
    >>> shown_difference(f"{items}, rate=5, more=1", f"{items}, more=1")
    ('…, rate=5, more=1', '…, more=1')
    >>> shown_difference("mean", "sum")
    ('mean', 'sum')
    """
    if max(len(text), len(other)) <= _CHARS_SHOWN:
        return shown_text(text), shown_text(other)
    alike = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), None)
    begin = text.rfind(", ", 0, alike)
    if begin <= 0:
        return shown_text(text), shown_text(other)
    return shown_text(f"…{text[begin:]}"), shown_text(f"…{other[begin:]}")


def listed(names: Iterable[object]) -> str:
    """Return names as a message lists them, the first thirty; "none" for none.

    >>> listed(["u10", "v10"])
    "'u10', 'v10'"
    """
    quoted = [shown(name) for name in names]
    more = f" and {len(quoted) - 30} more" if len(quoted) > 30 else ""
    return (", ".join(quoted[:30]) + more) or "none"


def did_you_mean(seen: object, known: Iterable[object]) -> str:
    """Return a sentence that proposes the nearest of the names, to stand behind a message.

    >>> did_you_mean("temprature", ["temperature", "pressure"])
    ". Did you mean 'temperature'?"
    """
    if not isinstance(seen, str) or not seen.isprintable():
        return ""
    names = [name for name in known if isinstance(name, str) and name.isprintable()]
    meant = _core.did_you_mean(seen, names)
    return f". {meant}" if meant else ""
