# SPDX-License-Identifier: Apache-2.0
"""Fluvial moves scientific n-d data between parallel programs and computes on it on the way.

>>> import fluvial as fl
>>> float(fl.reduce("mean", [1.0, 2.0, 3.0]))
2.0
"""

import importlib
from typing import TYPE_CHECKING

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
    TaskCancelled,
    TimedOut,
    UnknownName,
    WrongType,
    __version__,
)
from .xarray.import_hook import when_imported

if TYPE_CHECKING:
    from . import distribute, ops, route
    from .describe.records import Particles, Record, Records
    from .flow.cancelling import task_cancelled
    from .flow.command import CommandFailed, CompletedCommand, command
    from .flow.exported import TaskLibrary
    from .flow.parallel import parallel
    from .flow.parts import own_part
    from .flow.pool import Pool
    from .flow.task import task
    from .opening import open
    from .pipeline.run import PipeReport
    from .piping import pipe
    from .reducing import reduce
    from .scan.file import File
    from .scan.file_dataset import FileDataset
    from .scan.file_series import FileSeries, FileSteps
    from .scan.file_step import FileStep
    from .scan.grouped_dataset import GroupedDataset
    from .scan.pending_scan import PendingScan
    from .scan.step_dataset import StepDataset
    from .stage.contact import contact
    from .stage.dataset import Chunk, Dataset
    from .stage.file_write_step import FileWriteStep
    from .stage.file_writer import FileWriteSeries
    from .stage.reader import ReadSeries, ReadStep
    from .stage.writer import WriteSeries, WriteStep
    from .stream.channel import Channel
    from .stream.stream import Batch, Inquiry, QueryResult, Stream
    from .stream.threshold import Threshold

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
    "TaskCancelled",
    "TaskLibrary",
    "Threshold",
    "TimedOut",
    "UnknownName",
    "WriteSeries",
    "WriteStep",
    "WrongType",
    "__version__",
    "command",
    "contact",
    "distribute",
    "open",
    "ops",
    "own_part",
    "parallel",
    "pipe",
    "reduce",
    "route",
    "task",
    "task_cancelled",
]

# Where a name is, which is imported when it is first asked for: a rank of a stream needs neither
# pools nor xarray, and to import all takes thrice as long as what every program needs.
_HOMES = {
    "Batch": "stream.stream",
    "Channel": "stream.channel",
    "Chunk": "stage.dataset",
    "CommandFailed": "flow.command",
    "CompletedCommand": "flow.command",
    "Dataset": "stage.dataset",
    "File": "scan.file",
    "FileDataset": "scan.file_dataset",
    "FileSeries": "scan.file_series",
    "FileStep": "scan.file_step",
    "FileSteps": "scan.file_series",
    "FileWriteSeries": "stage.file_writer",
    "FileWriteStep": "stage.file_write_step",
    "GroupedDataset": "scan.grouped_dataset",
    "Inquiry": "stream.stream",
    "Particles": "describe.records",
    "PendingScan": "scan.pending_scan",
    "PipeReport": "pipeline.run",
    "Pool": "flow.pool",
    "QueryResult": "stream.stream",
    "ReadSeries": "stage.reader",
    "ReadStep": "stage.reader",
    "Record": "describe.records",
    "Records": "describe.records",
    "StepDataset": "scan.step_dataset",
    "Stream": "stream.stream",
    "TaskLibrary": "flow.exported",
    "Threshold": "stream.threshold",
    "WriteSeries": "stage.writer",
    "WriteStep": "stage.writer",
    "command": "flow.command",
    "contact": "stage.contact",
    "open": "opening",
    "own_part": "flow.parts",
    "parallel": "flow.parallel",
    "pipe": "piping",
    "reduce": "reducing",
    "task": "flow.task",
    "task_cancelled": "flow.cancelling",
}
_MODULES = ("distribute", "ops", "route")


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # which would take it to have any name

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
            globals()[name] = value
            return value
        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


when_imported(f"{__name__}.xarray.accessor")
