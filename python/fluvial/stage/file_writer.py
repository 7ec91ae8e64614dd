# SPDX-License-Identifier: Apache-2.0
"""The writing end of a series in files: what a stream would carry goes where a format has it."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping, Sequence
from typing import Literal, Self

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_choice, to_float
from ..base.made_here import MadeHere
from ..base.messages import shown
from ..describe.attributes import AttributeValue, plain
from ..describe.group_attributes import Groups, plain_groups, to_iteration
from ..mpi.communicator import Communicator, check_communicator, handle_of
from ..mpi.together import Together
from ..store.compression import PackedChunk, packed, to_compression
from ..store.hdf5_output import Hdf5Output
from ..store.netcdf4_output import Netcdf4Output
from ..store.new_output import new_output
from ..store.numbered_files import file_of_number, has_number
from ..store.output_file import as_stored, check_part, write_part
from ..store.progress_mark import ProgressMark
from ..store.step_contents import Output, Packing, Parts, Places
from ..store.zarr_output import write_own
from .bp_hosts import BpHosts, bp_hosts
from .chunk_exchange import ChunkShares, exchanged
from .file_write_step import FileWriteStep, Part, Put
from .host_files import HostFiles, to_by_host
from .merged_puts import joined_attributes
from .opened_file import OpenedFile
from .put_coordinates import PutCoordinates
from .shared_out import SharedOut, to_aggregators
from .take_name import take_name
from .told_steps import OfRank, ToldSteps

_OF_LABELLED_ARRAYS = {"netcdf", "netcdf4", "zarr"}


class FileWriteSeries:
    """The writing end of a series in files; a context manager. See `fluvial.open`.

    Steps begin and end on all ranks together. One rank lays out the file, and each writes its own
    parts; neither h5py nor libhdf5 needs MPI for it.
    """

    def __init__(
        self,
        name: str,
        comm: Communicator | None,
        step_timeout: float = 300.0,
        stall_timeout: float = 10.0,
        engine: str = "hdf5",
        zarr_format: Literal[2, 3] = 3,
        compression: str | None = None,
        file_per: Literal["job", "host"] = "job",
        aggregators: int | None = None,
    ) -> None:
        if comm is not None:
            check_communicator(comm)
        self.name = name
        self._made = MadeHere()
        self.attrs: dict[str, object] = {}
        """Attributes of the series; set them before the first step."""
        self.coordinates = PutCoordinates() if engine in _OF_LABELLED_ARRAYS else None
        """What labelled arrays bring along; None: the format has no place for it."""
        self._engine = engine
        limit_s = to_float(step_timeout, "step_timeout")
        stall_s = to_float(stall_timeout, "stall_timeout")
        self._comm = None if comm is None else comm.Dup()
        watch = _core.WatchedTask(handle_of(self._comm), stall_s, "the series")
        ranks = Together(self._comm, limit_s, f"write '{name}'", watch, setting_up=True)
        self._ranks = ranks.set_up()
        self._numbered = has_number(name)
        versions: tuple[Literal[2, 3], ...] = (2, 3)
        self._zarr_format, self._compression, by_host, writers = ranks.alike(
            "what files are written",
            lambda: (
                to_choice(zarr_format, "zarr_format", versions),
                to_compression(compression, engine),
                to_by_host(file_per, name, engine, compression),
                to_aggregators(aggregators),
            ),
            lambda found: (
                f"zarr_format {found[0]}, compression {found[1]}, by host {found[2]}, "
                f"aggregators {found[3]}"
            ),
        )
        self._index = 0
        self._steps = 0
        self._bytes = 0
        self._said: dict[str, dict[str, AttributeValue]] = {}
        """Attributes of datasets, as the steps that were written said them."""
        self._said_in_step: dict[str, dict[str, AttributeValue]] = {}
        self._told = ToldSteps()
        self._step: FileWriteStep | None = None
        self._output: Output | None = None
        self._mark: ProgressMark | None = None
        self._file = OpenedFile(kept=not self._numbered)
        self._closed = False
        ranks.run(self._take_name)
        files = HostFiles(name, self._comm, ranks) if by_host else None
        self._hosts = files or bp_hosts(engine, name, self._comm, ranks)
        self._shared_out = SharedOut(self._comm, writers, watch, limit_s)

    def step(
        self,
        time: float | None = None,
        dt: float | None = None,
        attrs: Mapping[str, object] | None = None,
        *,
        iteration: int | None = None,
        groups: Groups | None = None,
    ) -> FileWriteStep:
        """Begin the next step, as `WriteSeries.step`; use it in a `with`.

        Raises
        ------
        InvalidArgument
            Another step is open, or the series is closed; `iteration` is not above the last one,
            or there is no larger one.
        """
        if self._closed:
            raise InvalidArgument("the series is closed; use it inside its `with` block")
        self._made.check(f"the series '{self.name}'")
        if self._step is not None and not self._step.over:
            raise InvalidArgument(
                f"a step begins while another is open: got step {self._index}; allowed: after step "
                f"{self._step.index} has ended. Leave its `with` block first"
            )
        attributes = plain(attrs)
        if time is not None:
            attributes["time"] = to_float(time, "time")
        if dt is not None:
            attributes["dt"] = to_float(dt, "dt")
        index = to_iteration(self._index if iteration is None else iteration)
        if index < self._index:
            raise InvalidArgument(
                f"iterations of files ascend: got {shown(iteration)}; allowed: {self._index} and "
                "above"
            )
        self._said_in_step = {}
        self._step = FileWriteStep(self, index, attributes, plain_groups(groups))
        self._index = index + 1
        self._steps += 1
        return self._step

    @property
    def stats(self) -> dict[str, int | float]:
        """Steps and bytes that this rank has written so far."""
        return {"steps": self._steps, "bytes": self._bytes}

    def close(self) -> None:
        """Close the file. Collective; idempotent.

        One file for all steps is made though no step was begun: it has the attributes alone.

        Raises
        ------
        SystemError
            It cannot be written; on all ranks.
        InvalidArgument
            A step is open, which then is not written.
        """
        if self._closed or self._made.inherited:
            return
        if self._step is not None and not self._step.over:
            self._break_off("a step was open")
            raise InvalidArgument(
                f"'{self.name}' is closed while step {self._step.index} is open: got a step that "
                "is not written; allowed: no open step. Use `with series.step() as step:`"
            )
        self._closed = True
        self._file.close()
        if self._hosts is not None:
            try:
                self._ranks.run(self._hosts.close, everywhere=True)
            except Exception as error:
                self._break_off(str(error))
                raise
            self._hosts.free()
        if self._steps == 0 and not self._numbered:
            self._make_without_steps()
        self._ranks.run(self._end)
        if self._comm is not None:
            self._comm.Free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None = None, *_: object
    ) -> None:
        if kind is None:
            self.close()
        elif not self._closed and not self._made.inherited:
            self._break_off(f"{kind.__name__}: {shown(str(error))}")

    def _break_off(self, why: str) -> None:
        """Close it without the others, which may be anywhere: what is collective would wait."""
        self._closed = True
        self._file.close()
        if self._hosts is not None:
            with contextlib.suppress(_core.Error):  # why it is broken off says more
                self._hosts.close()
        self._close_output()
        if self._mark is not None:
            self._mark.fail(why)

    def attributes_of(self, name: str, attrs: Mapping[str, object] | None) -> Mapping[str, object]:
        """Return the attributes of a dataset: those of earlier steps until some are given anew."""
        if attrs is not None:
            self._said_in_step[name] = plain(attrs)
        return self._said_in_step.get(name, self._said.get(name, {}))

    def write(self, put: Put) -> None:
        """Write a step, at its end; all ranks do, or none. Collective."""
        self._made.check(f"the series '{self.name}'")
        pieces = [] if self.coordinates is None else self.coordinates.new()
        of_all = self._ranks.gather(self._told.news(put, pieces, plain(self.attrs)))
        written = False
        try:
            places, shares = self._ranks.run(lambda: self._lay_out(put, of_all))
            self._ranks.run(lambda: self._write_parts(places, put), everywhere=True)
            self._bytes += self._shared_out.write(self._ranks, places, put.parts)
            for name in sorted(places.own & shares.keys()):
                chunks = {name: self._whole_chunks(put, name, shares)}
                write = functools.partial(self._write_own, places, chunks)
                self._ranks.run(write, everywhere=True)
            if self._hosts is not None:
                self._bytes += self._hosts.write(put, places)
            for name, packing in sorted((places.packed or {}).items()):
                self._write_packed(name, packing, self._whole_chunks(put, name, shares))
            if places.merged:
                parts = self._ranks.gather({n: put.parts.get(n, ()) for n in places.merged})
                self._ranks.run(lambda: self._write_merged(parts))
            self._ranks.run(lambda: self._finish(put.number))
            written = True
            self._said |= self._said_in_step
        except Exception:
            self._give_up(put.number)
            raise
        finally:
            if self.coordinates is not None:
                self.coordinates.end_step(written, not self._numbered)

    def _write_parts(self, places: Places, put: Put) -> None:
        """Write what this rank has put. Local."""
        own = places.own & put.parts.keys() - (places.cut or {}).keys()
        if own:
            self._write_own(places, {name: put.parts[name] for name in own})
        if not places.begins:
            return
        file = self._file.at(places.path)
        for name, begin in places.begins.items():
            if name in (places.shared or {}):
                continue
            shape = put.extents[name].shape if name in put.extents else ()
            for offset, array in put.parts.get(name, ()):
                stored = as_stored(array, places.big_endian)
                if name in places.kept:
                    check_part(file, name, begin, shape, offset, stored)
                    continue
                write_part(file, places.path, begin, shape, offset, stored)
                self._bytes += array.nbytes

    def _whole_chunks(self, put: Put, name: str, shares: Mapping[str, ChunkShares]) -> Parts:
        """Return the chunks of a dataset that this rank writes: what it has put, or its share."""
        mine = put.parts.get(name, [])
        return exchanged(self._ranks, mine, shares[name]) if name in shares else mine

    def _write_own(self, places: Places, mine: Mapping[str, Parts]) -> None:
        """Write chunks by the library of the format. Local."""
        write_own(places.path, places.record, mine)
        self._bytes += sum(array.nbytes for parts in mine.values() for _, array in parts)

    def _write_packed(self, name: str, packing: Packing, mine: Parts) -> None:
        """Compress chunks of a dataset; the first rank writes them."""
        chunks = self._ranks.run(lambda: list(packed(mine, packing)), everywhere=True)
        of_all = self._ranks.gather(chunks)
        self._ranks.run(lambda: self._write_chunks(name, of_all))
        self._bytes += sum(array.nbytes for _, array in mine)

    def _write_chunks(self, name: str, of_all: Sequence[Sequence[PackedChunk]]) -> None:
        assert isinstance(self._output, Hdf5Output | Netcdf4Output) and self._mark is not None
        with self._mark.changing():
            self._output.write_chunks(name, [chunk for of_one in of_all for chunk in of_one])

    def _write_merged(self, of_all: Sequence[Mapping[str, Sequence[Part]]]) -> None:
        """Write what all ranks have put of some datasets; on the first rank."""
        parts: dict[str, list[Part]] = {}
        for of_one in of_all:
            for name, found in of_one.items():
                parts.setdefault(name, []).extend(found)
        assert self._output is not None and self._mark is not None
        with self._mark.changing():
            self._output.write(parts)
        self._bytes += sum(array.nbytes for found in parts.values() for _, array in found)

    def _give_up(self, index: int) -> None:
        """Take a step out again that was not written; what has failed before may fail here."""
        if self._hosts is not None:
            self._hosts.give_up(index)
        output = self._output
        if output is None or self._mark is None:
            return
        with self._mark.changing(), contextlib.suppress(OSError, RuntimeError, KeyError):
            if not self._numbered:
                output.give_up(index)
                return
            self._output = None
            output.discard()

    def _lay_out(self, put: Put, of_all: Sequence[OfRank]) -> tuple[Places, dict[str, ChunkShares]]:
        """Make the objects of a step; on the first rank. Which rank has what of cut datasets."""
        contents = self._told.joined(put.number, of_all)
        if isinstance(self._hosts, HostFiles):
            contents = contents._replace(by_host=self._hosts.regions(self._told.regions_by_rank))
        assert self._mark is not None
        with self._mark.changing():
            if self._output is None:
                path = self.name
                if self._numbered:
                    path = file_of_number(self.name, put.number) + ".part"
                pattern = os.path.basename(self.name) if self._numbered else None
                self._output = self._new_output(path, pattern)
            places = self._output.lay_out(contents)
        regions = self._told.regions_by_rank
        places = self._shared_out.choose(places, contents.extents, regions)
        shares = {
            name: self._told.shares(contents.extents[name], name, chunk)
            for name, chunk in (places.cut or {}).items()
        }
        return places, shares

    def _finish(self, number: int) -> None:
        if self._output is None or self._mark is None:
            return
        with self._mark.changing():
            self._output.finish()
            if self._numbered:
                path = self._output.path
                self._close_output()
                os.replace(path, path.removesuffix(".part"))
        self._mark.finish(number)

    def _make_without_steps(self) -> None:
        """Make a file that has the attributes of the series alone. Collective."""
        try:
            mine = self._ranks.run(lambda: plain(self.attrs), everywhere=True)
            of_all = self._ranks.gather(mine)
            self._ranks.run(lambda: self._make_of_attributes(of_all))
        except Exception as error:
            self._break_off(str(error))
            raise

    def _make_of_attributes(self, of_all: Sequence[Mapping[str, object]]) -> None:
        """On the first rank."""
        attrs = joined_attributes(of_all, "the attributes of the series")
        assert self._mark is not None
        with self._mark.changing():
            output = self._new_output(self.name, None)
            try:
                output.make_without_steps(attrs)
            except Exception:
                output.discard()
                raise
            self._output = output

    def _new_output(self, path: str, pattern: str | None) -> Output:
        if isinstance(self._hosts, BpHosts):
            return self._hosts.new_output(path, pattern)
        return new_output(self._engine, path, pattern, self._zarr_format, self._compression)

    def _end(self) -> None:
        """Close the file and say that no step follows; on the first rank."""
        try:
            self._close_output()
        except Exception as error:
            if self._mark is not None:
                self._mark.fail(str(error))
            raise
        if self._mark is not None:
            self._mark.close()

    def _close_output(self) -> None:
        output, self._output = self._output, None
        if output is not None:
            output.close()

    def _take_name(self) -> None:
        """On the first rank."""
        self._mark = take_name(self.name, self._engine)
