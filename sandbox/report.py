"""What isolation this machine offers, for `acidtest doctor`."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

from .base import SandboxError
from .bubblewrap import find_bwrap
from .cgroups import Cgroups
from .languages import missing, toolchains
from .program import LANGUAGES

ENGINE_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that works here or does not, and what to do about it (empty where nothing can or need be done)."""

    name: str
    ok: bool
    detail: str
    remedy: str


def isolation_report() -> list[Check]:
    """bubblewrap, the limits' level, each language, and the container engines."""
    return [_bubblewrap(), _limits(), *(_language(name) for name in LANGUAGES), _engine("docker"), _engine("podman")]


def _bubblewrap() -> Check:
    try:
        path = find_bwrap()
    except SandboxError as error:
        return Check("bubblewrap", False, str(error), "")
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=ENGINE_TIMEOUT_S)
    user = "as root" if os.geteuid() == 0 else "as a plain user"
    return Check("bubblewrap", True, f"{done.stdout.strip()} makes containers here {user}", "")


def _limits() -> Check:
    level = Cgroups().level
    if level == "no cgroup":
        detail = "no writable control groups: the box watches its own processes' memory and CPU time instead"
        return Check("limits", False, detail, "run as root, or under `systemd-run --user --scope -p Delegate=yes`")
    return Check("limits", True, f"{level} limits memory and processes, and measures CPU time", "")


def _language(name: str) -> Check:
    path = toolchains()[name]
    if path is None:
        reason, _, remedy = missing(name).partition("; ")
        return Check(name, False, reason, remedy)
    return Check(name, True, path, "")


def _engine(name: str) -> Check:
    path = shutil.which(name)
    if path is None:
        return Check(name, False, "not installed; this version runs programs with bubblewrap", "")
    command = [path, "info", "--format", "{{.ServerVersion}}" if name == "docker" else "{{.Version.Version}}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ENGINE_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Check(name, False, f"`{name} info` does not answer within {ENGINE_TIMEOUT_S} s", "restart the engine")
    version = done.stdout.strip()
    if done.returncode or not version:
        said = " ".join(done.stderr.split())[:200]
        return Check(name, False, f"installed, but no engine answers: {said}", "start the engine")
    return Check(name, True, f"engine {version}; this version runs programs with bubblewrap", "")
