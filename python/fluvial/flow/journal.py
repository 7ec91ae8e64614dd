# SPDX-License-Identifier: Apache-2.0
"""The results of finished tasks on a disk, by their keys: what a program that starts again skips.

An SQLite database with one writer, which locks it for as long as it is open (`journal_lock`). It
uses a rollback journal: no memory is shared, so any file system that has locks will do, and what
was committed lies in the file itself, where damage can be seen. A program that was killed in the
middle of a transaction leaves the rollback journal beside the file, and the next undoes that.

| what is damaged                    | noticed by |
|------------------------------------|------------|
| pages, the tree, what lies between | SQLite's ``quick_check``, when the file is opened |
| keys, functions, order or number   | a chain of digests over all rows, when the file is opened |
| a result                           | its digest, when it is read |
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .. import _core
from ..base.messages import shown
from .journal_lock import JournalInUseError, JournalLock

_APPLICATION = 0x464C4A31
_VERSION = 1
_PIECE_BYTES = 64 << 20  # SQLite's values have to stay below 1 GB
_TABLES = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE pieces (number INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE finished (number INTEGER PRIMARY KEY, key TEXT NOT NULL, function TEXT NOT NULL,
    digest BLOB NOT NULL, first_piece INTEGER NOT NULL, pieces INTEGER NOT NULL);
CREATE TABLE state (finished INTEGER NOT NULL, pieces INTEGER NOT NULL, chain BLOB NOT NULL);
INSERT INTO state VALUES (0, 0, x'');
"""


@dataclass(frozen=True)
class Finished:
    """A task that has finished: its key, the name of its function, and its packed result."""

    key: str
    function: str
    result: bytes | bytearray


@dataclass(frozen=True)
class _Row:
    number: int
    function: str
    digest: bytes
    first_piece: int
    pieces: int

    def link(self, chain: bytes, key: str) -> bytes:
        """Return the chain with this row at its end."""
        words = (self.number, key, self.function, self.digest, self.first_piece, self.pieces)
        return _digest(chain + repr(words).encode())


class Journal:
    """A journal that is open for writing. Any thread may call it.

    Raises
    ------
    DamagedFile
        When it is not as it was left, or no journal.
    Error
        When another pool has it open, when it cannot be opened or written, and when it is gone but
        what undoes its last transaction is not.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._given = os.fspath(path)
        self._path = pathlib.Path(os.path.realpath(path))  # beside which SQLite puts its own
        self._rollback = self._path.with_name(f"{self._path.name}-journal")
        self._lock = threading.Lock()
        self._rows: dict[str, _Row] = {}
        self._pieces = 0
        self._chain = b""
        self._ends = contextlib.ExitStack()
        try:
            with self._explained("be opened"):
                self._open()
        except BaseException:
            self._ends.close()
            raise

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def function_of(self, key: str) -> str:
        """Return the name of the function whose result the key stands for."""
        return self._rows[key].function

    def result_of(self, key: str) -> bytearray:
        """Return a packed result.

        Raises
        ------
        DamagedFile
            When it is not what was written.
        """
        row = self._rows[key]
        result = bytearray()
        with self._lock, self._explained("be read"):
            for (content,) in self._database.execute(
                "SELECT content FROM pieces WHERE number >= ? AND number < ? ORDER BY number",
                (row.first_piece, row.first_piece + row.pieces),
            ):
                result += content
        if _digest(result) != row.digest:
            raise self._damaged(f"the result of {shown(key)} is not what was written")
        return result

    def add(self, finished: Sequence[Finished]) -> None:
        """Write what has finished; when this returns it is on the disk, and stays there.

        Raises
        ------
        Error
            When it cannot be written; then nothing of it is in the journal.
        """
        with self._lock, self._explained("be written"):
            self._check_there()
            rows, pieces, chain = self._add(finished)
            self._check_there()
        self._rows |= rows
        self._pieces, self._chain = pieces, chain

    def _add(self, finished: Sequence[Finished]) -> tuple[dict[str, _Row], int, bytes]:
        with self._transaction():
            number, pieces, chain = len(self._rows), self._pieces, self._chain
            rows = {}
            for one in finished:
                number += 1
                contents = list(_pieces(one.result))
                row = _Row(number, one.function, _digest(one.result), pieces + 1, len(contents))
                for content in contents:
                    pieces += 1
                    self._database.execute("INSERT INTO pieces VALUES (?, ?)", (pieces, content))
                self._database.execute(
                    "INSERT INTO finished VALUES (?, ?, ?, ?, ?, ?)",
                    (number, one.key, one.function, row.digest, row.first_piece, row.pieces),
                )
                chain = row.link(chain, one.key)
                rows[one.key] = row
            self._database.execute(
                "UPDATE state SET finished = ?, pieces = ?, chain = ?", (number, pieces, chain)
            )
        return rows, pieces, chain

    def _check_there(self) -> None:
        """SQLite goes on with a file that has no name any more."""
        if not self._held.is_at(self._path):
            raise _core.Error(
                f"a journal is gone: got {self._path}, which was removed, moved or replaced while "
                "this pool had it open; allowed: a file that stays. What was in it, and what "
                "finishes now, is not kept: put it back, or run all tasks again"
            )

    def close(self) -> None:
        """Let others have it."""
        with self._lock:
            self._ends.close()

    def _open(self) -> None:
        if not self._path.exists():
            self._check_no_rollback()
            _create(self._path)
        self._check_kind()
        self._held = JournalLock(self._path)
        self._ends.callback(self._held.close)
        self._database = sqlite3.connect(
            self._path, timeout=0, isolation_level=None, check_same_thread=False
        )
        self._ends.callback(self._database.close)  # before the lock, with which SQLite's own end
        self._begin()

    def _check_kind(self) -> None:
        if not self._path.is_file():
            raise _core.InvalidArgument(
                f"a journal is a file: got {shown(self._given)}; allowed: the path of a file, "
                "in a folder that exists, which is a journal or is not there yet"
            )

    def _check_no_rollback(self) -> None:
        """SQLite would play it into the new journal, and old tasks would be there again."""
        with contextlib.suppress(FileNotFoundError):
            # When the journal is there by now, another program has just made it and writes it.
            if self._rollback.stat().st_size > 0 and not self._path.exists():
                raise _core.Error(
                    f"a journal is gone, but its rollback file is not: got {self._rollback} "
                    f"without {self._path}; allowed: both, or neither. Put the journal back where "
                    "it was, or remove this file, too, if no pool is running that has them open: "
                    "then all tasks run again"
                )

    def _begin(self) -> None:
        for setting in ("locking_mode = EXCLUSIVE", "synchronous = FULL", "cell_size_check = ON"):
            self._database.execute(f"PRAGMA {setting}")
        with self._transaction():  # the lock is kept from here on
            (application,) = self._database.execute("PRAGMA application_id").fetchone()
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            if application != _APPLICATION:
                raise self._damaged("it is not a journal, or its header is damaged")
            if version != _VERSION:
                raise _core.Error(
                    f"a journal has another format: got {self._path} of version {version}; "
                    f"allowed: version {_VERSION}. Use the Fluvial that wrote it"
                )
            (verdict,) = self._database.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise self._damaged(str(verdict))
            self._read_rows()

    def _read_rows(self) -> None:
        for number, key, *rest in self._database.execute("SELECT * FROM finished ORDER BY number"):
            row = _Row(number, *rest)
            self._rows[key] = row
            self._chain = row.link(self._chain, key)
            self._pieces += row.pieces
        said = self._database.execute("SELECT * FROM state").fetchall()
        if said != [(len(self._rows), self._pieces, self._chain)]:
            raise self._damaged("tasks are missing from it, or were changed")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN EXCLUSIVE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except _core.Error:
            raise
        except (OSError, sqlite3.Error, TypeError, UnicodeError) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if isinstance(error, sqlite3.ProgrammingError):  # it was closed
                code = sqlite3.SQLITE_MISUSE
            if isinstance(error, OSError):
                code = sqlite3.SQLITE_CANTOPEN
            if isinstance(error, JournalInUseError):
                code = sqlite3.SQLITE_BUSY
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise _core.Error(
                    f"a journal is in use: got {self._path}, which another program has open; "
                    "allowed: one pool at a time. Wait for that, or give this pool a journal of "
                    "its own"
                ) from None
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
                raise self._damaged(str(error)) from None
            why = getattr(error, "strerror", None) or error
            raise _core.Error(
                f"a journal cannot {what}: got {self._path}: {why}; allowed: a file in a folder "
                "that exists, both of which this program may write"
            ) from error

    def _damaged(self, why: str) -> Exception:
        return _core.DamagedFile(
            f"a journal is damaged: got {self._path}: {why}. Restore the file, or remove it, and "
            f"{self._rollback.name} where that is there: then all its tasks run again"
        )


def _create(path: pathlib.Path) -> None:
    """Make an empty journal; whatever there is at `path` at any time is a whole one.

    On a file system without links there is an empty file for a moment.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        draft.touch(exist_ok=False)
        database = sqlite3.connect(draft, isolation_level=None)
        try:
            database.executescript(_TABLES)
        finally:
            database.close()
        try:
            os.link(draft, path)
        except FileExistsError:  # another program was faster
            pass
        except OSError:
            with contextlib.suppress(FileExistsError):
                path.touch(exist_ok=False)  # of several programs, one goes on
                os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _digest(content: bytes | bytearray) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _pieces(content: bytes | bytearray) -> Iterator[memoryview]:
    view = memoryview(content)
    for begin in range(0, len(view), _PIECE_BYTES):
        yield view[begin : begin + _PIECE_BYTES]
