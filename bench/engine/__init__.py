# SPDX-License-Identifier: Apache-2.0
"""Steps of many small datasets, by Fluvial and by SST.

``question.py`` is the program; ``with_fluvial.py`` and ``with_sst.py`` are the contestants, in the
processes of `bench.stage`.
"""
