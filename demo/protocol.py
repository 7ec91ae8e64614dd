# SPDX-License-Identifier: Apache-2.0
"""What the demo does and when: heating protocol, output steps, ranks, and where things lie.

The launcher writes a `Plan` into the working directory; both jobs read it, so that they agree.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
from dataclasses import dataclass

from demo.crystal import Argon, Crystal

FEWEST_OUTPUTS = 30


@dataclass(frozen=True)
class Heating:
    """Hold the crystal cold, heat it linearly at constant volume, hold the melt hot.

    Attributes
    ----------
    steps, every
        Molecular dynamics steps in all, and between two outputs; `every` divides `steps`.
    cold, hot
        Temperatures of the two holds in epsilon/k_B: 12 K and 300 K for argon.
    timestep
        Length of one step in reduced time: 10.8 fs for argon.
    """

    steps: int
    every: int
    cold: float = 0.1
    hot: float = 300 / Argon.TEMPERATURE
    timestep: float = 0.005

    def __post_init__(self) -> None:
        """Refuse what cannot melt or be divided."""
        if self.every < 1 or self.steps % self.every or self.steps // self.every < FEWEST_OUTPUTS:
            raise ValueError(
                f"{self.steps} steps with an output every {self.every}: the demo needs a whole "
                f"number of outputs, at least {FEWEST_OUTPUTS}"
            )

    @property
    def outputs(self) -> int:
        """Number of outputs, with the one before the first step."""
        return self.steps // self.every + 1

    @property
    def heating_starts(self) -> int:
        """The step at which the cold hold ends."""
        return round(0.08 * self.steps / self.every) * self.every

    @property
    def heating_ends(self) -> int:
        """The step at which the hot hold begins."""
        return round(0.50 * self.steps / self.every) * self.every

    def temperature(self, step: int) -> float:
        """Return the thermostat's temperature at a step, in epsilon/k_B."""
        ramp = (step - self.heating_starts) / (self.heating_ends - self.heating_starts)
        return self.cold + (self.hot - self.cold) * min(1.0, max(0.0, ramp))

    def cold_outputs(self) -> slice:
        """Return the outputs to average over for the crystal: the cold hold's, less its start."""
        return slice(self.heating_starts // self.every // 3, self.heating_starts // self.every + 1)

    def hot_outputs(self) -> slice:
        """Return the outputs to average over for the melt: the last tenth of the run."""
        return slice(self.outputs - max(3, self.outputs // 10), self.outputs)


@dataclass(frozen=True)
class Plan:
    """Everything that both jobs need to know.

    Attributes
    ----------
    crystal, heating
        The sample and what is done to it.
    writers, readers
        Ranks of the simulation and of the analysis.
    stream
        Name of the stream.
    contact, files, results
        Folders: of the stream's contact file, of the openPMD files of the pipeline through files,
        and of what the analysis leaves for the report.
    """

    crystal: Crystal
    heating: Heating
    writers: int
    readers: int
    stream: str
    contact: str
    files: str
    results: str

    def write(self, path: pathlib.Path) -> None:
        """Write the plan as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1))

    @classmethod
    def read(cls, path: str | pathlib.Path) -> Plan:
        """Read what `write` wrote."""
        fields = json.loads(pathlib.Path(path).read_text())
        crystal, heating = fields.pop("crystal"), fields.pop("heating")
        crystal["cells"] = tuple(crystal["cells"])
        return cls(crystal=Crystal(**crystal), heating=Heating(**heating), **fields)
