"""Control groups: memory, process count and CPU time of a whole run, where this machine lets us make them.

Version 2 first, the version 1 controllers next. Without either, the box watches its own processes instead (see
`inner.py`), and `level` says so.
"""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Level = Literal["cgroup v2", "cgroup v1", "no cgroup"]

ROOT = Path("/sys/fs/cgroup")
PREFIX = "acidtest-"
CONTROLLERS = ("memory", "pids", "cpuacct")
REMOVE_TRIES = 200
REMOVE_WAIT_S = 0.01


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One run's group. folders: where each controller's files are; all the same folder in version 2."""

    version: int
    folders: dict[str, Path]

    def add(self, pid: int) -> None:
        """Move a process, and so all that it will start, into the group."""
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def cpu_s(self) -> float:
        """CPU seconds that the group has used."""
        folder = self.folders["cpuacct"]
        if self.version == 2:
            return _table(folder / "cpu.stat")["usage_usec"] / 1e6
        return int((folder / "cpuacct.usage").read_text()) / 1e9

    def peak_memory_mb(self) -> float:
        """The most memory that was in use, in MiB; 0 where the kernel does not keep it."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        path = self.folders["memory"] / name
        return int(path.read_text()) / 2**20 if path.exists() else 0.0

    def memory_kills(self) -> int:
        """How many processes were killed because the group had no memory left."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return _table(self.folders["memory"] / name).get("oom_kill", 0)

    def process_refusals(self) -> int:
        """How often a process was not started because the group had too many."""
        return _table(self.folders["pids"] / "pids.events").get("max", 0)

    def remove(self) -> None:
        """Remove the emptied group. The kernel may need a moment after the last process has gone."""
        for folder in set(self.folders.values()):
            _remove(folder)


class Cgroups:
    """Makes groups below our own, or below the root where our own may not have children."""

    def __init__(self) -> None:
        self.version = 0
        self.parents: dict[str, Path] = {}
        for version, parents in ((2, _parents_v2()), (1, _parents_v1())):
            for candidate in parents:
                if _usable(version, candidate):
                    self.version, self.parents = version, candidate
                    _sweep(candidate)
                    return

    @property
    def level(self) -> Level:
        """What is in force on this machine."""
        levels: dict[int, Level] = {2: "cgroup v2", 1: "cgroup v1", 0: "no cgroup"}
        return levels[self.version]

    def create(self, memory_bytes: int, processes: int) -> Cgroup | None:
        """A new group with these limits and without swap, or None where the level is `no cgroup`."""
        if not self.version:
            return None
        return _create(self.version, self.parents, memory_bytes, processes)


def _create(version: int, parents: dict[str, Path], memory_bytes: int, processes: int) -> Cgroup:
    name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    group = Cgroup(version, {controller: parent / name for controller, parent in parents.items()})
    made: list[Path] = []
    try:
        for folder in set(group.folders.values()):
            folder.mkdir()
            made.append(folder)
        memory = group.folders["memory"]
        if version == 2:
            (memory / "memory.max").write_text(str(memory_bytes))
            _write_if_there(memory / "memory.swap.max", "0")
            _write_if_there(memory / "memory.oom.group", "1")
        else:
            (memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
            _write_if_there(memory / "memory.memsw.limit_in_bytes", str(memory_bytes))
        (group.folders["pids"] / "pids.max").write_text(str(processes))
    except OSError:
        for folder in made:
            folder.rmdir()
        raise
    return group


def _usable(version: int, parents: dict[str, Path]) -> bool:
    if version == 2:
        folder = parents["memory"]
        _write_quietly(folder / "cgroup.subtree_control", "+memory +pids")
    try:
        group = _create(version, parents, 2**26, 8)
    except OSError:
        return False
    group.remove()
    return True


def _parents_v2() -> list[dict[str, Path]]:
    if not (ROOT / "cgroup.controllers").exists():
        return []
    own = ROOT / _own_groups().get("", "/").lstrip("/")
    return [dict.fromkeys(CONTROLLERS, folder) for folder in dict.fromkeys([own, ROOT])]


def _parents_v1() -> list[dict[str, Path]]:
    groups = _own_groups()
    if not all((ROOT / name).is_dir() for name in CONTROLLERS):
        return []
    own = {name: ROOT / name / groups.get(name, "/").lstrip("/") for name in CONTROLLERS}
    return [own, {name: ROOT / name for name in CONTROLLERS}]


def _own_groups() -> dict[str, str]:
    """Our own group's path for each version 1 controller, and for version 2 under the empty name."""
    groups = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        groups.update(dict.fromkeys(names.split(","), path))
    return groups


def _sweep(parents: dict[str, Path]) -> None:
    """Remove the groups of clients that have died."""
    for folder in set(parents.values()):
        for left in folder.glob(f"{PREFIX}*"):
            owner = left.name.removeprefix(PREFIX).partition("-")[0]
            if not Path(f"/proc/{owner}").exists():
                try:
                    left.rmdir()
                except OSError:
                    continue  # its processes are still dying; the next client will find it empty


def _remove(folder: Path) -> None:
    for _ in range(REMOVE_TRIES):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(REMOVE_WAIT_S)
        else:
            return
    folder.rmdir()


def _table(path: Path) -> dict[str, int]:
    rows = (line.split() for line in path.read_text().splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def _write_if_there(path: Path, text: str) -> None:
    if path.exists():
        path.write_text(text)


def _write_quietly(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError:
        return
