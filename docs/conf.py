# SPDX-License-Identifier: Apache-2.0
"""Sphinx: user guide in Markdown (MyST), Python reference by autodoc, C++ reference by doxygen."""

import pathlib
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

import fluvial

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from swift_t_lexer import SwiftTLexer  # noqa: E402

project = "Fluvial"
author = "the Fluvial authors"
copyright = f"{author}, Apache-2.0"
version = release = fluvial.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "breathe",
]
html_theme = "furo"
html_title = f"Fluvial {version}"
exclude_patterns = ["_build"]
default_role = "code"  # `name` in docstrings

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature has the names, the text says what they are
napoleon_google_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 80
maximum_signature_line_length = 90

breathe_default_project = "fluvial"
breathe_domain_by_extension = {"hpp": "cpp", "h": "c"}
breathe_show_include = False
# Every header opens the same namespaces; a struct of C and its typedef have one name.
suppress_warnings = ["duplicate_declaration.cpp", "duplicate_declaration.c"]

_DOXYFILE = """
PROJECT_NAME = Fluvial
INPUT = {source}
OUTPUT_DIRECTORY = {output}
STRIP_FROM_PATH = {root}/src
FILE_PATTERNS = *.hpp *.h
RECURSIVE = YES
GENERATE_XML = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_NO_PARAMDOC = NO
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = "FLUVIAL_ERROR(Name,Base)=class Name : public Base {{}}"
SKIP_FUNCTION_MACROS = NO
JAVADOC_AUTOBRIEF = YES
EXCLUDE_SYMBOLS = std::* *Partial::Forget
INPUT_FILTER = "sed -e '2s|^/// |/// \\\\file\\n/// |'"
"""


def _run_doxygen(app: Sphinx, config: Config) -> None:
    """Let doxygen write the XML that breathe reads."""
    doxygen = shutil.which("doxygen")
    if doxygen is None:
        raise ConfigError("doxygen is missing; install the package of this name")
    output = pathlib.Path(app.doctreedir).parent / ".doxygen"
    output.mkdir(parents=True, exist_ok=True)
    settings = _DOXYFILE.format(source=ROOT / "src" / "fluvial", output=output, root=ROOT)
    subprocess.run([doxygen, "-"], input=settings, text=True, check=True)
    _name_files_by_path(output / "xml")
    config.breathe_projects = {"fluvial": str(output / "xml")}


def _name_files_by_path(xml: pathlib.Path) -> None:
    """Let pages tell files of one name apart: scan/request.hpp and mpi/request.hpp."""
    index = ElementTree.parse(xml / "index.xml")
    for compound in index.iterfind("compound[@kind='file']"):
        described = ElementTree.parse(xml / f"{compound.get('refid')}.xml")
        location, name = described.find("compounddef/location"), compound.find("name")
        if location is not None and name is not None:
            name.text = location.get("file")
    index.write(xml / "index.xml")


def _escape_bars(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Keep |q| in docstrings from being read as a substitution of reStructuredText."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")) and "``" not in line:
            lines[i] = re.sub(r"(?<!\\)\|", r"\\|", line)


def setup(app: Sphinx) -> None:
    """Connect what this configuration adds."""
    app.add_lexer("swift_t", SwiftTLexer)
    app.connect("config-inited", _run_doxygen, priority=400)
    app.connect("autodoc-process-docstring", _escape_bars)
