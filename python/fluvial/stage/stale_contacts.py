# SPDX-License-Identifier: Apache-2.0
"""Contact files that killed writers have left behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import stat
from collections.abc import Mapping

_FIRST_LINE = "fluvial-contact 2\n"
_BYTES_MAX = 1 << 16


def contact_folder(env: Mapping[str, str]) -> str:
    """Return where a program with this environment has its contact files, unless told otherwise.

    >>> contact_folder({"FLUVIAL_DIRECTORY": "/"}), contact_folder({})
    ('/', '.')
    """
    if folder := env.get("FLUVIAL_DIRECTORY"):
        return folder
    with contextlib.suppress(OSError):
        folder = env.get("XDG_RUNTIME_DIR")
        if folder and os.stat(folder).st_uid == os.geteuid():
            return folder
    return os.curdir


def remove_stale_contacts(folder: str) -> list[str]:
    """Remove this user's contact files that no living writer has; return their names.

    A reader that starts would take one for the end of its stream. A writer holds the lock of its
    file, and the next one replaces a stale file while it holds that file's lock, so none of a
    living writer is removed. Files of other hosts stay: their locks need not be known here.
    """
    removed = []
    with contextlib.suppress(OSError):
        for path in sorted(pathlib.Path(folder).glob("*.fluvial")):
            with contextlib.suppress(OSError):
                if _remove(path):
                    removed.append(path.name)
    return removed


def _remove(path: pathlib.Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return False
        text = os.pread(descriptor, _BYTES_MAX, 0).decode(errors="replace")
        boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        if not text.startswith(_FIRST_LINE) or f"\nboot_id={boot_id}\n" not in text:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(status, os.stat(path, follow_symlinks=False)):
            return False  # another writer has the name by now
        os.unlink(path)
        return True
    finally:
        os.close(descriptor)
