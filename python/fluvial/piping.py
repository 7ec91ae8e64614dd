# SPDX-License-Identifier: Apache-2.0
"""`fluvial.pipe`: the steps of one series, or of several, put into another."""

from __future__ import annotations

import contextlib
import fnmatch
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ._core import Error, InvalidArgument
from .base.arguments import to_mapping, to_path, wrong_type
from .base.messages import shown, without_addresses
from .describe.engines import Options
from .distribute.assignment import Strategy, describe
from .distribute.own_strategy import Own
from .mpi.communicator import Communicator, check_communicator
from .mpi.together import Together
from .opening import names_files
from .opening import open as open_any
from .opening_choice import file_name
from .pipeline.conversion import Conversion, DatasetChoice, DTypes, Names
from .pipeline.pacing import Pacing
from .pipeline.run import OnStep, PipeReport, run
from .pipeline.sources import Sources
from .pipeline.step_choice import StepChoice, Steps
from .pipeline.transfer import Selecting, Sharing, Transfer
from .store.numbered_files import fits_pattern

Name = str | os.PathLike[str]
_AGREEMENT_S = 300.0  # that a rank waits for the others


class _Asked(NamedTuple):
    """What a call asks for, checked."""

    names: list[str]
    target: str
    selecting: Selecting
    pacing: Pacing
    choice: StepChoice
    words: str
    """What all ranks must ask for alike."""


def pipe(
    source: Name | Sequence[Name],
    destination: Name,
    comm: Communicator | None = None,
    *,
    strategy: Strategy = "hyperslabs",
    own: Mapping[str, Own] | None = None,
    steps: Steps = None,
    datasets: Names = None,
    isel: Mapping[str, object] | None = None,
    sel: Mapping[str, object] | None = None,
    dtype: DTypes = None,
    rate: float | None = None,
    original_timing: bool = False,
    speed: float = 1.0,
    reading: Mapping[str, object] | None = None,
    writing: Mapping[str, object] | None = None,
    on_step: OnStep = None,
) -> PipeReport:
    """Put the steps of one series into another, whatever they are: streams or files. Collective.

    A stream is captured in a file, a file replayed as a stream, a file converted. Each rank reads
    its share of each step by a strategy and writes it. Attributes of the series, the steps, the
    datasets and the groups that these are in are carried over, and so are numbers of iterations
    and openPMD's constant components; elements as they are stored, without being decoded.

    Parameters
    ----------
    source
        What `fluvial.open` reads; or several, whose steps of one number become one. Where
        attributes of sources differ, the first one counts.
    destination
        What ``fluvial.open(…, "w")`` writes. A file that is there is replaced once the first step
        has come and fits.
    comm
        An mpi4py communicator; None for a serial program.
    strategy, own
        Which rank gets which part, as of `ReadStep.mine`.
    steps
        Numbers of iterations: ``"10:100:10"``, ``"0,5,10:"``, a slice, a list; None: all.
    datasets
        Names, or patterns such as ``"meshes/*"``; None: all.
    isel, sel
        Regions by position and by coordinate, as of `FileDataset.isel` and `sel`, of all datasets
        that have such a dimension.
    dtype
        Of all floating datasets, or a dict of names or patterns to dtypes.
    rate
        Steps a second at most.
    original_timing, speed
        Steps come as their `time` says, in seconds by `timeUnitSI`, `speed` times as fast.
    reading, writing
        Further options of `fluvial.open` for the sources, and for the destination.
    on_step
        Called after each step with the report so far.

    Raises
    ------
    InvalidArgument
        On all ranks: an option is wrong on one, or they ask for different things; two sources
        have a dataset of one name; a value does not fit its dtype; no step is chosen.
    PeerLost, SystemError, TimedOut
        A source ended abnormally, the destination is full, or a series did not go on. The message
        says how many steps are in the destination, which has them whole.
    KeyboardInterrupt
        SIGINT came. The destination is closed and has all steps until then.

    Examples
    --------
    >>> fl.pipe("melt", "melt%T.h5", comm, strategy="by-host(binpacking)")  # doctest: +SKIP
    >>> fl.pipe("melt.h5", "replay", original_timing=True)                  # doctest: +SKIP
    """

    def asked() -> _Asked:
        several = isinstance(source, Sequence) and not isinstance(source, str)
        given: Sequence[object] = source if several else [source]  # type: ignore[assignment]
        names = [to_path(name, "the source") for name in given]
        target = to_path(destination, "the destination")
        _check_apart(names, target)
        selecting = Selecting(
            DatasetChoice(datasets),
            Conversion(dtype),
            to_mapping(isel, "isel", "a dict of dimensions to positions"),
            to_mapping(sel, "sel", "a dict of dimensions to labels"),
        )
        if on_step is not None and not callable(on_step):
            raise wrong_type("on_step", on_step, "a function of a report, or None")
        pacing, choice = Pacing(rate, original_timing, speed), StepChoice(steps)
        options: dict[str, object] = {
            "strategy": describe(strategy, own),
            "steps": steps,
            "datasets": datasets,
        }
        options |= {"isel": isel, "sel": sel, "dtype": dtype, "rate": rate, "speed": speed}
        options |= {"original_timing": original_timing, "reading": reading, "writing": writing}
        # Without folders: nodes may have a file system in different places.
        words = f"{', '.join(map(file_name, names))} into {file_name(target)}"
        words += "".join(
            f", {key}={value!r}" for key, value in options.items() if value is not None
        )
        return _Asked(names, target, selecting, pacing, choice, without_addresses(words))

    if comm is not None:
        check_communicator(comm)
    ranks = Together(comm, _AGREEMENT_S, "pipe a series", setting_up=True)
    names, target, selecting, pacing, choice, _ = ranks.alike(
        "what to pipe", asked, lambda found: found.words
    )
    report = PipeReport()
    interrupted = False
    with contextlib.ExitStack() as opened:
        further = _options(reading, "reading")
        series = [opened.enter_context(open_any(name, "r", comm, **further)) for name in names]
        followed = names if further.get("follow") else ()
        ranks.run(lambda: _check_files_apart(series, followed, target), everywhere=True)
        sources = Sources(series, names, choice)
        transfer = Transfer(Sharing(comm, strategy, own), selecting)
        try:
            if sources.total is not None or names_files(target, "w"):
                # Before what the destination has is lost by opening it.
                of_sources = sources.steps_checked(transfer.check)
            else:
                of_sources = sources.steps()
            with open_any(target, "w", comm, **_options(writing, "writing")) as sink:
                try:
                    run(sources, of_sources, sink, transfer, pacing, report, on_step)
                except KeyboardInterrupt:
                    interrupted = True  # the sink is closed as at the end, not given up
        except Error as error:
            raise type(error)(f"{error}; {_told(report.steps)} {shown(target)}") from error
    if interrupted:
        raise KeyboardInterrupt
    return report


def _options(further: Mapping[str, object] | None, what: str) -> Options:
    return dict(to_mapping(further, what))


def _told(steps: int) -> str:
    return "no step was written to" if steps == 0 else f"{steps} steps are whole in"


def _check_apart(names: Sequence[str], target: str) -> None:
    """Refuse a destination that is a source: it would be emptied before it is read."""
    if not names:
        raise InvalidArgument("no source: got an empty list; allowed: one series or several")
    for number, name in enumerate(names):
        if name == target or _is_one(name, target):
            raise _no_destination(target)
        if name in names[:number]:
            raise InvalidArgument(f"a source is given twice: got {shown(name)}; allowed: each once")


def _check_files_apart(series: Sequence[object], followed: Sequence[str], target: str) -> None:
    """Refuse a destination that replaces a file of a source, or becomes one of them.

    `followed` are patterns of files that come while they are read.
    """
    if not names_files(target, "w"):
        return
    for source in series:
        for path in getattr(source, "paths", ()):  # a stream has none
            if _is_one(path, target) or fits_pattern(path, target) or _lies_in(path, target):
                raise _no_destination(target)
    if any(fits_pattern(target, name) or _fits_in_shell(target, name) for name in followed):
        raise _no_destination(target)


def _is_one(name: str, other: str) -> bool:
    with contextlib.suppress(OSError):  # one of them is not there
        return os.path.samefile(name, other)
    return False


def _lies_in(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)


def _fits_in_shell(path: str, pattern: str) -> bool:
    folder, name = os.path.split(pattern)
    return fnmatch.fnmatchcase(
        os.path.realpath(path), os.path.join(os.path.realpath(folder or "."), name)
    )


def _no_destination(target: str) -> InvalidArgument:
    return InvalidArgument(
        f"the destination is a source: got {shown(target)}; allowed: another series. Write "
        "elsewhere, and rename the file afterwards"
    )
