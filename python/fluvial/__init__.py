# SPDX-License-Identifier: Apache-2.0
"""Fluvial moves scientific n-d data between parallel programs and computes on it on the way.

>>> import fluvial as fl
>>> float(fl.reduce("mean", [1.0, 2.0, 3.0]))
2.0
"""

from . import ops
from ._core import (
    DamagedFile,
    Error,
    InvalidArgument,
    PeerLost,
    PeerStalled,
    Refused,
    StaleContact,
    SystemError,
    TimedOut,
    __version__,
)
from .reading import Chunk, Dataset, ReadSeries, ReadStep
from .reduce import reduce
from .series import open
from .writing import WriteSeries, WriteStep

__all__ = [
    "Chunk",
    "DamagedFile",
    "Dataset",
    "Error",
    "InvalidArgument",
    "PeerLost",
    "PeerStalled",
    "ReadSeries",
    "ReadStep",
    "Refused",
    "StaleContact",
    "SystemError",
    "TimedOut",
    "WriteSeries",
    "WriteStep",
    "__version__",
    "open",
    "ops",
    "reduce",
]
