# SPDX-License-Identifier: Apache-2.0
"""Rates of tasks that do nothing, beside bare MPI and other tools; utilisation by tasks that sleep.

``question.py`` is the program, ``cases.py`` has the cases of each tool, ``programs/tasks.cpp`` has
bare MPI and pools in C++, ``optimum.hpp`` the most that can be, ``python_tasks.py`` pools and other
tools in Python, ``scheduling.py`` the scheduler in simulated time.
"""
