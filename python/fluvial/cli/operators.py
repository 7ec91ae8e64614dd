# SPDX-License-Identifier: Apache-2.0
"""Operators as the command line takes them."""

from __future__ import annotations

import re

from ..base.arguments import unknown_name
from ..compute.operator_text import WITH_ARGUMENTS, with_arguments
from ..compute.registry import Resolved, names, resolve


def to_operators(text: str, skipna: bool | None) -> dict[str, Resolved]:
    """Return operators by the names of their results.

    >>> list(to_operators("mean,quantile(0.9)", None))
    ['mean', 'quantile_0.9']
    """
    found = {}
    for word in re.split(r",(?![^(]*\))", text):
        match = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*", word)
        if match is None or (match[2] is None and match[1] not in names()):
            raise unknown_name("no such operator", word.strip(), [*names(), *WITH_ARGUMENTS])
        name, argument = match[1], match[2]
        label = name if argument is None else f"{name}_{_plain(argument)}"
        if label in found and argument is not None:
            label = f"{name}_{_plain(argument.replace(',', ':'))}"
        found[label] = (
            resolve(name, skipna=skipna)
            if argument is None
            else with_arguments(name, argument, skipna)
        )
    return found


def _plain(argument: str) -> str:
    """Return an operator's argument as it stands in the name of a result.

    >>> _plain("0.9,exact"), _plain("0:10:20")
    ('0.9', '0_10_20')
    """
    return argument.partition(",")[0].replace(" ", "").replace(":", "_")
