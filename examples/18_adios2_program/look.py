# SPDX-License-Identifier: Apache-2.0
"""An analysis that is written for Fluvial; it computes where the simulation's data lies."""

import fluvial as fl

with fl.open("plate") as series:
    for step in series:
        t = step["T"]
        unit = t.attrs["units"]
        print(f"step {step.index}: mean {t.mean():.3f} {unit}, up to {t.max():.2f} {unit}")
