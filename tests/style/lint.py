# SPDX-License-Identifier: Apache-2.0
"""`./run lint`: format, lint, types and the rules of this code base."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

import rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.prefix, "bin")


class Lint:
    """Runs the linters one after another and remembers which found something."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def run(
        self, name: str, command: list[str | pathlib.Path], shown_as: dict[str, str] | None = None
    ) -> None:
        """Run one linter; `shown_as` replaces paths in what it prints."""
        print(f"=== {name}", flush=True)
        result = subprocess.run(
            [str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        output = result.stdout + result.stderr
        for path, shown in (shown_as or {}).items():
            output = output.replace(path, shown)
        print(output, end="", flush=True)
        if result.returncode != 0:
            self.found.append(name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run lint", description=__doc__)
    parser.add_argument(
        "--fix", action="store_true", help="format in place and apply ruff's safe fixes"
    )
    parser.add_argument("--tidy", action="store_true", help="clang-tidy as well (minutes)")
    options = parser.parse_args()

    files = rules.sources(ROOT)
    cpp = [path for path in files if path.suffix in (".cpp", ".hpp", ".c", ".h")]
    lint = Lint()
    lint.run(
        "clang-format",
        [BIN / "clang-format", *(["-i"] if options.fix else ["--dry-run", "-Werror"]), *cpp],
    )
    lint.run(
        "ruff check", [BIN / "ruff", "check", "--quiet", *(["--fix"] if options.fix else []), "."]
    )
    lint.run(
        "ruff format",
        [BIN / "ruff", "format", "--quiet", *([] if options.fix else ["--diff"]), "."],
    )
    # Types are checked where the extension's stubs are: in the installed package.
    site = ROOT / ".build" / os.environ["FLUVIAL_FLAVOUR"] / "prefix" / "site"
    checked = [site / "fluvial", ROOT / "tests/style/user_types.py"]
    lint.run("mypy", [BIN / "mypy", *checked], {f"{site.relative_to(ROOT)}/": "python/"})
    if options.tidy:
        sources = [path for path in cpp if path.parts[0] == "src" and path.suffix == ".cpp"]
        database = ROOT / ".build" / os.environ["FLUVIAL_FLAVOUR"]
        lint.run("clang-tidy", [BIN / "clang-tidy", "--quiet", "-p", database, *sources])

    print("=== rules", flush=True)
    broken = rules.violations(ROOT, rules.RULES) + rules.python_circles(ROOT)
    print(*broken, sep="\n", end="\n" if broken else "")
    if broken:
        lint.found.append("rules")
    for advice in rules.violations(ROOT, rules.ADVICE):
        print(f"note: {advice}")

    print(f"lint: {', '.join(lint.found)} found something" if lint.found else "lint: clean")
    return 1 if lint.found else 0


if __name__ == "__main__":
    sys.exit(main())
