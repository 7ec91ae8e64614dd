# SPDX-License-Identifier: Apache-2.0
"""Fluvial moves scientific n-d data between parallel programs and computes on it on the way.

>>> import fluvial as fl
>>> float(fl.reduce("mean", [1.0, 2.0, 3.0]))
2.0
"""

from typing import TYPE_CHECKING

from . import distribute, ops, route
from ._core import (
    DamagedFile,
    DamagedMessage,
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
from .describe.records import Particles, Record, Records
from .flow.command import CommandFailed, CompletedCommand, command
from .flow.exported import TaskLibrary
from .flow.parallel import parallel
from .flow.pool import Pool
from .flow.task import task
from .opening import open
from .pipeline.run import PipeReport
from .piping import pipe
from .reducing import reduce
from .stage.dataset import Chunk, Dataset
from .stage.reader import ReadSeries, ReadStep
from .stage.writer import WriteSeries, WriteStep
from .stream.channel import Channel
from .stream.stream import Batch, Inquiry, QueryResult, Stream
from .stream.threshold import Threshold
from .xarray.import_hook import when_imported

if TYPE_CHECKING:
    from .scan.file import File
    from .scan.file_dataset import FileDataset
    from .scan.file_series import FileSeries, FileSteps
    from .scan.file_step import FileStep
    from .scan.grouped_dataset import GroupedDataset
    from .scan.pending_scan import PendingScan
    from .scan.step_dataset import StepDataset
    from .stage.file_write_step import FileWriteStep
    from .stage.file_writer import FileWriteSeries

__all__ = [
    "Batch",
    "Channel",
    "Chunk",
    "CommandFailed",
    "CompletedCommand",
    "DamagedFile",
    "DamagedMessage",
    "Dataset",
    "Error",
    "File",
    "FileDataset",
    "FileSeries",
    "FileStep",
    "FileSteps",
    "FileWriteSeries",
    "FileWriteStep",
    "GroupedDataset",
    "Inquiry",
    "InvalidArgument",
    "NoSuchFile",
    "NotPermitted",
    "OutOfBounds",
    "OutOfRange",
    "Particles",
    "PeerLost",
    "PeerStalled",
    "PendingScan",
    "PipeReport",
    "Pool",
    "QueryResult",
    "ReadSeries",
    "ReadStep",
    "Record",
    "Records",
    "Refused",
    "StaleContact",
    "StepDataset",
    "Stream",
    "SystemError",
    "TaskLibrary",
    "Threshold",
    "TimedOut",
    "UnknownName",
    "WriteSeries",
    "WriteStep",
    "WrongType",
    "__version__",
    "command",
    "distribute",
    "open",
    "ops",
    "parallel",
    "pipe",
    "reduce",
    "route",
    "task",
]

# These need xarray, which takes longer to import than all the rest, so they come when asked for.
_WITH_XARRAY = {
    "File": "scan.file",
    "FileDataset": "scan.file_dataset",
    "FileSeries": "scan.file_series",
    "FileStep": "scan.file_step",
    "FileSteps": "scan.file_series",
    "FileWriteSeries": "stage.file_writer",
    "FileWriteStep": "stage.file_write_step",
    "GroupedDataset": "scan.grouped_dataset",
    "PendingScan": "scan.pending_scan",
    "StepDataset": "scan.step_dataset",
}


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # which would take it to have any name

    def __getattr__(name: str) -> type:
        if name in _WITH_XARRAY:
            import importlib

            return getattr(importlib.import_module(f".{_WITH_XARRAY[name]}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


when_imported(f"{__name__}.xarray.accessor")
