# SPDX-License-Identifier: Apache-2.0
"""How words show flags, and on which rank they print: where typer does otherwise.

Help shows what a flag is called, and not that it is a bool, as newer versions of typer say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from .one_voice import word_speaks

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter  # its own, or those of click


def show_plain_flags(app: typer.Typer) -> None:
    """Let the help of all words leave out the type of flags, which take no value."""
    app.info.cls = _Words
    for command in app.registered_commands:
        command.cls = _Word
    for group in app.registered_groups:
        if group.typer_instance is not None:
            show_plain_flags(group.typer_instance)


class _Word(TyperCommand):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return _without_types(super().get_params(ctx))

    def invoke(self, ctx: Context) -> object:
        with word_speaks():
            return super().invoke(ctx)


class _Words(TyperGroup):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return _without_types(super().get_params(ctx))


def _without_types(parameters: list[Parameter]) -> list[Parameter]:
    for parameter in parameters:
        if isinstance(parameter, TyperOption) and parameter.is_flag:
            parameter.metavar = ""
    return parameters
