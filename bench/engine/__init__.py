# SPDX-License-Identifier: Apache-2.0
"""One program of ADIOS2, by Fluvial's engine and by SST.

``question.py`` is the program; ``with_plugin.py`` and `bench.stage.with_sst` are the contestants,
in the processes of `bench.stage`.
"""
