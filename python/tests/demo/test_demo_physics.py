# SPDX-License-Identifier: Apache-2.0
import dataclasses

import numpy as np
import pytest

from demo import physics
from demo.comparison import same_results
from demo.crystal import Argon


def failed(record, crystal, heating):
    return [c.name for c in physics.check(record, crystal, heating) if not c.passed]


def changed(record, **arrays):
    return dataclasses.replace(record, **arrays)


def test_a_melting_crystal_passes(record, crystal, heating):
    checks = physics.check(record, crystal, heating)
    assert [c.name for c in checks if not c.passed] == []
    assert len(checks) == 5


@pytest.mark.parametrize(
    ("off", "passes"), [(0.991, True), (1.009, True), (0.985, False), (1.015, False)]
)
def test_the_first_peak_must_be_within_one_percent(record, crystal, heating, off, passes):
    found = failed(changed(record, q_vectors=record.q_vectors * off), crystal, heating)
    assert (found == []) == passes
    assert passes or "(111), is where" in found[0]


@pytest.mark.parametrize(("remaining", "passes"), [(0.09, True), (0.11, False), (1.0, False)])
def test_the_peak_must_fall_ten_times(record, crystal, heating, remaining, passes):
    peaks = record.peaks.copy()
    peaks[30:] = remaining * peaks[0]
    found = failed(changed(record, peaks=peaks), crystal, heating)
    assert found == ([] if passes else ["(111) falls on melting"])


def test_a_cold_melt_is_noticed(record, crystal, heating):
    counts, temperature = record.speed_counts.copy(), record.temperature.copy()
    temperature[-10:] *= 0.9
    counts[-10:] = 1e5 * physics.maxwell_boltzmann(
        record.speed_edges, temperature[-1], float(record.boltzmann_per_mass)
    )
    found = failed(changed(record, temperature=temperature, speed_counts=counts), crystal, heating)
    assert found == ["the melt has the thermostat's temperature"]


def test_speeds_of_another_temperature_are_noticed(record, crystal, heating):
    counts = np.roll(record.speed_counts, 3, axis=1)
    found = failed(changed(record, speed_counts=counts), crystal, heating)
    assert found == ["its speeds are Maxwell and Boltzmann's"]


@pytest.mark.parametrize(
    "steps", [slice(None, -1), slice(None, None, -1)], ids=["lost", "reversed"]
)
def test_a_lost_output_and_a_wrong_order_are_noticed(record, crystal, heating, steps):
    found = failed(changed(record, step=record.step[steps]), crystal, heating)
    assert found == ["every output was analysed, in order"]


def test_melting_is_when_the_peak_stays_low(record, heating):
    peak = record.peaks[:, 0].copy()
    assert physics.melting_output(peak, heating) == 30
    peak[40] = peak[0]  # a late flare: melted only after it
    assert physics.melting_output(peak, heating) == 41
    peak[-1] = peak[0]
    assert physics.melting_output(peak, heating) is None


def test_the_first_peak_is_not_the_highest():
    q = np.array([1.0, 2.0, 2.001, 3.0, 2.5])
    s = np.array([1.0, 50.0, 50.0, 400.0, 2.0])
    assert physics.first_peak(q, s) == pytest.approx(2.0005)


@pytest.mark.parametrize("temperature", [12.0, 100.0, 300.0])
def test_maxwell_boltzmann_is_a_distribution_with_the_right_moments(temperature):
    per_mass = Argon.BOLTZMANN / Argon.MASS
    edges = np.linspace(0, 2500, 2001)
    share = physics.maxwell_boltzmann(edges, temperature, per_mass)
    centres = (edges[1:] + edges[:-1]) / 2
    assert share.sum() == pytest.approx(1.0, abs=1e-6)
    assert share @ centres == pytest.approx(np.sqrt(8 * per_mass * temperature / np.pi), rel=1e-3)
    assert share @ centres**2 == pytest.approx(3 * per_mass * temperature, rel=1e-3)


def test_pipelines_that_measured_the_same_agree(record):
    assert same_results(record, record).passed


def test_a_deviating_bin_and_a_lost_output_do_not(record):
    s = record.s.copy()
    s[7, 20] *= 1 + 1e-5
    assert not same_results(record, changed(record, s=s)).passed
    assert not same_results(record, changed(record, s=record.s[:-1])).passed
