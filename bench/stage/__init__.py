# SPDX-License-Identifier: Apache-2.0
"""Steps from one writer to one reader on the same host: Fluvial's stage beside ADIOS2's SST.

``question.py`` is the program; ``side.py`` runs in the writer's and the reader's process, with
``with_fluvial.py`` or ``with_sst.py`` behind it; ``pair.py`` starts and drives the two.
"""
