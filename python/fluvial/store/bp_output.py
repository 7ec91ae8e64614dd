# SPDX-License-Identifier: Apache-2.0
"""A folder of BP (BP5), written by ADIOS2: an iteration of openPMD in each of its steps.

The library from PyPI is a serial one, so one process of each host writes for those there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from .. import _core
from .._core import InvalidArgument
from .attribute_texts import check_attributes
from .bp_joined_index import BpJoinedIndex, MetadataOfStep
from .bp_writer import BpWriter, SaidOfStep, StepOfProcess
from .openpmd_layout import StepLayout, series_attributes, step_layout
from .output_file import cannot_write
from .step_contents import Parts, Places, StepContents

_DTYPES = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float32", "float64", "complex64", "complex128"),
}


class BpOutput:
    """A new folder; a step is there once it was finished."""

    def __init__(self, path: str, pattern: str | None) -> None:
        """Make the folder with its first step; `pattern` is that of one for each iteration."""
        self.path = path
        self._pattern = pattern
        self._writer = BpWriter(path)
        self._number = 0
        self._said = SaidOfStep({}, StepLayout({}, {}, {}))
        self._parts: Mapping[str, Parts] = {}

    def lay_out(self, step: StepContents) -> Places:
        """Look at what a step consists of; nothing is written yet.

        Raises
        ------
        InvalidArgument
            openPMD or the format have no place for what was put.
        SystemError
            An earlier step could not be written: the library takes none after that.
        """
        self._writer.check()
        self._look_at(step)
        return Places(self.path, {}, merged=frozenset(step.extents))

    def _look_at(self, step: StepContents) -> None:
        of_series = series_attributes(step.said.of_series, self._pattern, _core.__version__)
        layout = step_layout(
            step.said.attrs, step.extents, of_series, step.said.groups, step.said.varying
        )
        check_attributes(of_series, "the series", slashes=False)
        layout.check_attributes(slashes=False)
        self._number, self._parts = step.number, {}
        for name, extent in step.extents.items():
            if extent.dtype not in _DTYPES or 0 in extent.shape:
                raise InvalidArgument(
                    f"'{name}' cannot be written as BP: got {extent.dtype} of shape "
                    f"{extent.shape}; allowed: {', '.join(sorted(_DTYPES))}, at least one element. "
                    "Convert it, leave it out, or give engine='hdf5'"
                )
        self._said = SaidOfStep(of_series, layout)

    def write(self, parts: Mapping[str, Parts]) -> None:
        """Take what all ranks have put, until the step is finished."""
        self._parts = parts

    def finish(self) -> None:
        """Write the step.

        Raises
        ------
        SystemError
            It cannot be written.
        """
        shapes = {name: extent.shape for name, extent in self._said.layout.datasets.items()}
        self._writer.write(StepOfProcess(self._number, shapes, self._parts, self._said))
        self._parts = {}

    def give_up(self, number: int) -> None:
        """Leave a step out: nothing of it was written yet."""
        self._parts = {}

    def discard(self) -> None:
        """Close and remove the folder."""
        self.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def make_without_steps(self, of_series: Mapping[str, object]) -> None:
        """Make the folder with the attributes of the series alone.

        Raises
        ------
        InvalidArgument
            The format has no place for one of them.
        SystemError
            It cannot be written.
        """
        said = series_attributes(of_series, self._pattern, _core.__version__)
        check_attributes(said, "the series", slashes=False)
        self._writer.begin(said)

    def close(self) -> None:
        """Close the folder. Idempotent."""
        self._writer.close()


class BpOutputOfHosts(BpOutput):
    """The same of several hosts, which write the elements; this one writes the index of all."""

    def __init__(self, path: str, pattern: str | None) -> None:
        super().__init__(path, pattern)
        self._index: BpJoinedIndex | None = None
        self._of_hosts: Sequence[MetadataOfStep] = ()

    @property
    def said(self) -> SaidOfStep:
        """What one host writes for all in the step that was laid out last."""
        return self._said

    def lay_out(self, step: StepContents) -> Places:
        """Look at what a step consists of, and make the folder. Errors: as in `BpOutput`."""
        self._look_at(step)
        try:
            os.makedirs(self.path, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error) from None
        return Places(self.path, {}, by_host=frozenset(self._said.layout.datasets))

    def take(self, of_hosts: Sequence[MetadataOfStep]) -> None:
        """Take what the hosts have written into the step, until it is finished."""
        self._of_hosts = of_hosts

    def finish(self) -> None:
        """Write the index of the step. Errors: as in `BpOutput`."""
        try:
            if self._index is None:
                self._index = BpJoinedIndex(self.path, len(self._of_hosts))
            self._index.add(self._of_hosts)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def close(self) -> None:
        """Close the folder. Idempotent."""
        super().close()
        index, self._index = self._index, None
        if index is not None:
            try:
                index.close()
            except OSError as error:
                raise cannot_write(self.path, error) from error
