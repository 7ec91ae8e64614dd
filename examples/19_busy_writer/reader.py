# SPDX-License-Identifier: Apache-2.0
"""Reader: takes each step over TCP, as from another host, while its writer computes."""

import time

import fluvial as fl

with fl.open("busy", transport="tcp") as series:
    for step in series:
        begin = time.perf_counter()
        field = step["field"].read()
        took = time.perf_counter() - begin
        print(f"reader: step {step.index} came in {1e3 * took:.0f} ms, all {field.mean():g}")
