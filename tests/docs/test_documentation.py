# SPDX-License-Identifier: Apache-2.0
"""Examples and tables of the documentation are right."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re
import typing

import pytest

import fluvial as fl

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"
WRITTEN = {"zarr_format", "compression", "file_per", "aggregators"}
OF_FILES = WRITTEN | {"raw", "decode", "isolated"}
MODULES = ["fluvial", *(m.name for m in pkgutil.walk_packages(fl.__path__, "fluvial."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    results = doctest.testmod(importlib.import_module(name), extraglobs={"fl": fl})
    assert results.failed == 0


def test_the_modules_have_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [
        t for name in MODULES for t in finder.find(importlib.import_module(name)) if t.examples
    ]
    assert len(found) > 20


@pytest.mark.parametrize("page", sorted(path.name for path in GUIDE.glob("*.md")))
def test_examples_in_the_guide(page):
    assert doctest.testfile(str(GUIDE / page), module_relative=False).failed == 0


def unfenced(text):
    """The numbers of lines that begin an example and stand outside of a fence."""
    inside, found = False, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif line.startswith(">>>") and not inside:
            found.append(number)
    return found


def test_examples_stand_in_fences():
    assert unfenced("```python\n>>> 1\n1\n\n```\n>>> 2\n") == [6]
    pages = GUIDE.parent.rglob("*.md")
    assert {p.name: lines for p in pages if (lines := unfenced(p.read_text()))} == {}


def anchors(text):
    """What links may name of a page: its headings, of the levels that docs/conf.py allows."""
    conf = (GUIDE.parent / "conf.py").read_text()
    levels = int(re.search(r"^myst_heading_anchors = (\d)$", conf, re.M)[1])
    fenced = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.M | re.S)
    headings = re.findall(rf"^#{{1,{levels}}} (.*)$", fenced, re.M)
    found = set(re.findall(r"^\((.*)\)=$", text, re.M))
    for heading in map(str.lower, headings):
        by_github = re.sub(r"[^\w -]", "", heading).replace(" ", "-")
        by_docutils = re.sub(r"[^a-z0-9]+", "-", heading).strip("-")
        found |= {by_github, by_docutils}
    return found


def test_links_name_headings_that_there_are():
    wrong = []
    for page in GUIDE.parent.rglob("*.md"):
        for path, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", page.read_text()):
            target = (page.parent / path) if path else page
            if anchor not in anchors(target.read_text()):
                wrong.append(f"{page.name}: {path}#{anchor}")
    assert wrong == []


@pytest.mark.parametrize("page", ["README.md", "docs/install.md"])
def test_the_packages_of_the_build_are_those_that_run_installs(page):
    (line,) = re.findall(r"apt-get install ((?:[^\n]*\\\n)*[^#\n]*)", (ROOT / page).read_text())
    packages = set(line.replace("\\", "").split())
    script = (ROOT / "setup/packages.sh").read_text()
    script = script.split("missing_packages() {")[1].split("\n}")[0]
    of_script = set(re.findall(r"[\w+.-]+", " ".join(re.findall(r"printf '([^']*)'", script))))
    assert {"g++", "cmake", "libhdf5-dev", "libopenmpi-dev"} <= packages <= of_script


def rows(page, heading):
    """The rows of the table under a heading, as lists of cells."""
    section = (GUIDE / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize(
    ("heading", "mode"), [("Options of a writer", "w"), ("Options of a reader", "r")]
)
def test_the_options_and_their_defaults(heading, mode):
    (overload,) = [
        signature
        for signature in map(inspect.signature, typing.get_overloads(fl.open))
        if signature.parameters["name"].annotation == "str"  # a stream, or files
        and f"'{mode}'" in str(signature.parameters["mode"].annotation)
        and "None" in str(signature.parameters["engine"].annotation)
    ]
    options = {
        p.name: p.default
        for p in overload.parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in OF_FILES
    }
    documented = {row[0].strip("`"): row[1] for row in rows("queue.md", heading)}
    assert documented.keys() == options.keys()
    for name, default in options.items():
        if default is not None:  # None stands for a default that the table states in words
            shown = re.sub(r"[`\"]| s$", "", documented[name])
            as_default = shown == "True" if isinstance(default, bool) else type(default)(shown)
            assert as_default == default, name


def test_the_statistics(tmp_path):
    with (
        fl.open("s", "w", readers=0, directory=tmp_path) as writer,
        fl.open("s", directory=tmp_path) as reader,
    ):
        for series, page in ((writer, "writing.md"), (reader, "reading.md")):
            documented = {
                n for row in rows(page, "Statistics") for n in re.findall("`(.*?)`", row[0])
            }
            assert documented == series.stats.keys()


def test_the_statistics_of_streams_inside_a_job():
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stats = channel.stream().stats
    documented = {
        n for row in rows("streams.md", "Statistics") for n in re.findall("`(.*?)`", row[0])
    }
    assert documented == stats.keys()


def test_every_operator_is_in_the_table():
    table = " ".join(cell for row in rows("operators.md", "Built in") for cell in row[:2])
    missing = [name for name in fl._core.operator_names() if f"`{name}`" not in table]
    classes = {"histogram": "Histogram", "histogram2d": "Histogram2D", "quantile": "Quantile"}
    assert [name for name in missing if f"`{classes.get(name)}(" not in table] == []


def test_every_error_is_in_the_catalogue():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    errors = [
        n for n in fl.__all__ if inspect.isclass(e := getattr(fl, n)) and issubclass(e, fl.Error)
    ]
    assert [name for name in errors if f"| `{name}`" not in page] == []


def test_the_options_of_the_command_line():
    from fluvial.cli import command_line as cli
    from typer.main import get_command

    page = (GUIDE / "command_line.md").read_text()
    documented = {n for row in rows("command_line.md", "fluvial reduce FILE… DATASET")
                  for n in re.findall("`(--[a-z-]+)`", row[0])}  # fmt: skip
    reduce = get_command(cli.app).commands["reduce"]
    options = {
        name
        for parameter in reduce.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    }
    assert options - {"--help", "--no-nearest"} == documented
    assert "--attributes" in page


def test_the_options_of_fluvial_pipe():
    from fluvial.cli import command_line as cli
    from typer.main import get_command

    cells = [row[0] for row in rows("pipe.md", "Options")]
    documented = {name for cell in cells for name in re.findall("`(--[a-z-]+)`", cell)}
    pipe = get_command(cli.app).commands["pipe"]
    options = {name for p in pipe.params for name in p.opts if name.startswith("--")}
    assert options - {"--progress"} == documented - {"--no-progress"}
    keywords = set(inspect.signature(fl.pipe).parameters) - {"source", "destination", "comm"}
    columns = {
        name for row in rows("pipe.md", "Options") for name in re.findall("`([a-z_]+)`", row[1])
    }
    assert columns == keywords


def test_the_options_of_fluvial_run():
    from fluvial.cli import command_line as cli
    from typer.main import get_command

    cells = [row[0] for row in rows("running.md", "Options")]
    documented = {name for cell in cells for name in re.findall("`(-[a-z-]+)`", cell)}
    run = get_command(cli.app).commands["run"]
    options = {name for parameter in run.params for name in parameter.opts if name[0] == "-"}
    assert options == documented


def test_the_options_of_fluvial_route_explain():
    from fluvial.cli import command_line as cli
    from typer.main import get_command

    cells = [row[0] for row in rows("routes.md", "Explain")]
    documented = {name for cell in cells for name in re.findall("`(--[a-z-]+)`", cell)}
    explain = get_command(cli.app).commands["route"].commands["explain"]
    assert {name for p in explain.params for name in p.opts} == documented


def test_the_options_of_fluvial_route_measure():
    from fluvial.cli import command_line as cli
    from typer.main import get_command

    cells = [row[0] for row in rows("routes.md", "Measure a network")]
    documented = {name for cell in cells for name in re.findall("`(--[a-z-]+)`", cell)}
    measure = get_command(cli.app).commands["route"].commands["measure"]
    assert {name for p in measure.params for name in [*p.opts, *p.secondary_opts]} == documented


def test_every_kind_of_topology_is_in_the_table():
    texts = [row[0].strip("`") for row in rows("routes.md", "Topologies")]
    assert fl.route.names().keys() == {text.split(":")[0] for text in texts if ":" in text}
    assert all(fl.route.topology(text).hosts > 1 for text in texts if ":" in text)


def test_the_options_of_a_scan():
    from fluvial.scan.options import ScanOptions

    page = (GUIDE / "files.md").read_text()
    assert [name for name in ScanOptions.__annotations__ if f"`{name}" not in page] == []


def test_readme_gives_the_shares_of_the_limit_that_the_page_has():
    page = (ROOT / "docs" / "explanation" / "figures.md").read_text()
    section = page.split("\n## How near the limit\n")[1].split("\n## ")[0]
    shares = re.findall(r"^\| [^|]+ \| ([\d.]+) \|", section, flags=re.M)
    readme = (ROOT / "README.md").read_text()
    lines = readme.split("\n## How fast\n")[1].split("\n## ")[0]
    assert len(shares) == 5
    assert re.findall(r"\*\*([\d.]+) of ", lines) == shares
    assert all(share in readme.split("![Five bars")[1].split("]")[0] for share in shares)


def test_ratios_of_the_steps_are_those_of_their_rates():
    page = (ROOT / "docs" / "explanation" / "figures.md").read_text()
    found = 0
    for line in page.split("\n## Steps between jobs\n")[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 9 and cells[1] and cells[3].endswith("GB/s"):
            put, span, memcpy, sst = (float(cell.split()[0]) for cell in cells[3:7])
            ratios = [put / memcpy, span / memcpy, put / sst, span / sst]
            shown = [float(cell) for cell in (*cells[1:3], *cells[7:])]
            assert shown == pytest.approx(ratios, rel=0.05), line
            found += 1
    assert found == 4
