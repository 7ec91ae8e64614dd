# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from demo.protocol import FEWEST_OUTPUTS, Heating, Plan


def test_temperature_holds_rises_and_holds(heating):
    steps = np.arange(0, heating.steps + 1)
    temperatures = np.array([heating.temperature(s) for s in steps])
    assert (temperatures[: heating.heating_starts + 1] == heating.cold).all()
    assert temperatures[heating.heating_ends :] == pytest.approx(heating.hot)
    rising = np.diff(temperatures[heating.heating_starts : heating.heating_ends + 1])
    assert rising == pytest.approx(rising[0]) and rising[0] > 0


@pytest.mark.parametrize(("steps", "every"), [(300, 10), (500, 10), (1200, 10), (9000, 75)])
def test_the_averaged_outputs_lie_within_the_holds(steps, every):
    heating = Heating(steps, every)
    step = np.arange(heating.outputs) * heating.every
    assert step[heating.cold_outputs()].max() <= heating.heating_starts
    assert step[heating.hot_outputs()].min() >= heating.heating_ends
    assert len(step[heating.cold_outputs()]) >= 2 and len(step[heating.hot_outputs()]) >= 3
    assert step[-1] == steps


@pytest.mark.parametrize(("steps", "every"), [(100, 7), (100, 0), ((FEWEST_OUTPUTS - 1) * 10, 10)])
def test_what_cannot_be_divided_is_refused(steps, every):
    with pytest.raises(ValueError, match="whole number"):
        Heating(steps, every)


def test_a_plan_survives_its_file(plan, tmp_path):
    plan.write(tmp_path / "plan.json")
    assert Plan.read(tmp_path / "plan.json") == plan
