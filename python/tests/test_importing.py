# SPDX-License-Identifier: Apache-2.0
"""What `import fluvial` imports, and when."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "used, not_needed",
    [
        ("fluvial", ("numpy", "fluvial.flow", "fluvial.route", "fluvial.stage", "fluvial.stream")),
        ("fluvial.Channel", ("xarray", "tomllib", "html", "fluvial.flow", "fluvial.stage")),
        ("fluvial.open", ("xarray", "tomllib", "html", "fluvial.flow", "fluvial.stream.channel")),
        ("fluvial.Pool", ("xarray", "tomllib", "html", "fluvial.stage", "fluvial.stream")),
        ("fluvial.route", ("xarray", "tomllib", "html", "fluvial.flow", "fluvial.stage.reader")),
    ],
)
def test_what_a_rank_uses_does_not_import_what_it_has_no_use_for(used, not_needed):
    program = f"import fluvial, sys; {used}; print(*sys.modules)"
    imported = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert "fluvial._core" in imported
    assert not set(not_needed) & set(imported)


def test_every_public_name_is_found_and_kept():
    program = (
        "import fluvial\n"
        "for name in fluvial.__all__: assert getattr(fluvial, name) is getattr(fluvial, name)\n"
        "from fluvial import *\n"
        "print(len(fluvial.__all__) - len([name for name in fluvial.__all__ if name in globals()]))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "0\n"
