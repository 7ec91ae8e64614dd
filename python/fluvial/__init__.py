# SPDX-License-Identifier: Apache-2.0
"""Fluvial moves scientific n-d data between parallel programs and computes on it on the way.

>>> import fluvial as fl
>>> float(fl.reduce("mean", [1.0, 2.0, 3.0]))
2.0
"""

from typing import TYPE_CHECKING, Any

from . import ops
from ._core import (
    DamagedFile,
    Error,
    InvalidArgument,
    NoSuchFile,
    NotPermitted,
    OutOfBounds,
    OutOfRange,
    PeerLost,
    PeerStalled,
    Refused,
    StaleContact,
    SystemError,
    TimedOut,
    UnknownName,
    WrongType,
    __version__,
)
from .channel import Channel
from .reading import Chunk, Dataset, ReadSeries, ReadStep
from .reduce import reduce
from .series import open
from .stream import Answer, Batch, Inquiry, Stream
from .threshold import Threshold
from .writing import WriteSeries, WriteStep
from .xarray_import import when_imported

if TYPE_CHECKING:
    from .file_dataset import FileDataset, GroupedDataset
    from .files import File
    from .scanning import PendingScan

__all__ = [
    "Answer",
    "Batch",
    "Channel",
    "Chunk",
    "DamagedFile",
    "Dataset",
    "Error",
    "File",
    "FileDataset",
    "GroupedDataset",
    "Inquiry",
    "InvalidArgument",
    "NoSuchFile",
    "NotPermitted",
    "OutOfBounds",
    "OutOfRange",
    "PeerLost",
    "PeerStalled",
    "PendingScan",
    "ReadSeries",
    "ReadStep",
    "Refused",
    "StaleContact",
    "Stream",
    "SystemError",
    "Threshold",
    "TimedOut",
    "UnknownName",
    "WriteSeries",
    "WriteStep",
    "WrongType",
    "__version__",
    "open",
    "ops",
    "reduce",
]

# These need xarray, which takes longer to import than all the rest, so they come when asked for.
_WITH_XARRAY = {
    "File": "files",
    "FileDataset": "file_dataset",
    "GroupedDataset": "file_dataset",
    "PendingScan": "scanning",
}


def __getattr__(name: str) -> Any:
    if name in _WITH_XARRAY:
        import importlib

        return getattr(importlib.import_module(f".{_WITH_XARRAY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


when_imported(f"{__name__}.accessor")
