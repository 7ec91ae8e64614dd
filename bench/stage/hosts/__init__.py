# SPDX-License-Identifier: Apache-2.0
"""The stage between two hosts, which are network namespaces of this machine.

``question.py`` is the program: ``./run bench stage --hosts``; ``namespaces.py`` makes the hosts,
``compiled.py`` runs the C++ programs, and the processes of `bench.stage` run on the hosts, too.
"""
