# SPDX-License-Identifier: Apache-2.0
"""Write what an installer of wheels would: by it others find the package's entry points.

python installed_metadata.py PYPROJECT VERSION FOLDER
"""

import pathlib
import sys
import tomllib


def main(pyproject: str, version: str, folder: str) -> None:
    """Write METADATA, entry_points.txt and INSTALLER into the folder."""
    with open(pyproject, "rb") as file:
        project = tomllib.load(file)["project"]
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {where}" for name, where in entries.items()), "")
    ]
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        "entry_points.txt": "\n".join(lines),
        "INSTALLER": "cmake\n",
    }
    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (path / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
