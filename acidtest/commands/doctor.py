"""`acidtest doctor`: what works on this machine, and what to install for the rest."""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

from rich.console import Console

from acidtest.exit_codes import NOT_READY, OK
from acidtest.sandbox import Program, SandboxError, Status, open_sandbox
from acidtest.sandbox.report import Check, isolation_report

from .flags import parse_flags

TRAINING = 'pip install "acidtest[train]"'


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """No options."""


def main(argv: list[str]) -> int:
    """Print every check; exit code 0 when math, Python code and training work here, else 1."""
    parse_flags(DoctorOptions, argv, "doctor", "What works on this machine, and what to install for the rest.")
    console = Console()
    needed = [*asyncio.run(_programs()), *map(_package, ("math-verify", "sympy")), *_training()]
    _print(console, "Needed", needed)
    _print(console, "Isolation, languages and engines", isolation_report())
    _print(console, "Accelerators", _accelerators())
    broken = [check.name for check in needed if not check.ok]
    if broken:
        console.print(f"not ready: {', '.join(broken)}", markup=False, soft_wrap=True)
        return NOT_READY
    console.print("ready: math, Python code and training work here")
    return OK


async def _programs() -> list[Check]:
    """The proof of the isolation is a program that ran in it."""
    name = "an isolated Python program"
    try:
        async with open_sandbox("auto", workers=1) as sandbox:
            outcome = await sandbox.run(Program("python", "print(6 * 7)"))
    except SandboxError as error:
        return [Check(name, False, str(error), "")]
    if outcome.status is Status.OK and outcome.stdout == b"42\n":
        return [Check(name, True, f"ran in {outcome.wall_s * 1000:.0f} ms with {sandbox.name}", "")]
    return [Check(name, False, f"it ended as {outcome.status}: {outcome.detail}", "see the isolation below")]


def _package(name: str, remedy: str = "") -> Check:
    module = name.replace("-", "_")
    if find_spec(module) is None:
        return Check(name, False, "not installed", remedy or f"pip install {name}")
    return Check(name, True, version(name), "")


def _training() -> list[Check]:
    checks = [_package(name, TRAINING) for name in ("torch", "transformers")]
    if not all(check.ok for check in checks):
        return checks
    try:
        importlib.import_module("torch")
    except (ImportError, OSError) as error:  # a build for other libraries than this machine's
        return [Check("torch", False, f"installed, but it does not load: {error}", TRAINING), *checks[1:]]
    return checks


def _accelerators() -> list[Check]:
    return [_cuda(), _vllm()]


def _cuda() -> Check:
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError):
        return Check("CUDA", False, "torch does not load", TRAINING)
    if not torch.cuda.is_available():
        build = "this torch is built without CUDA" if torch.version.cuda is None else "torch sees no GPU"
        return Check(
            "CUDA", False, f"{build}; training runs on the CPU", "on a machine with a GPU: a CUDA build of torch"
        )
    cards = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    names = ", ".join(f"{card.name} ({card.total_memory / 2**30:.0f} GiB)" for card in cards)
    return Check("CUDA", True, names, "")


def _vllm() -> Check:
    if find_spec("vllm") is None:
        return Check("vLLM", False, "not installed; this version samples with transformers", "")
    return Check("vLLM", True, f"{version('vllm')}; this version samples with transformers", "")


def _print(console: Console, title: str, checks: list[Check]) -> None:
    console.print(title, style="bold")
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = "[green]yes[/green]" if check.ok else "[red]no [/red]"
        console.print(f"  {mark} ", end="")
        remedy = f" -> {check.remedy}" if check.remedy and not check.ok else ""
        text = f"{check.name:{width}}  {check.detail}{remedy}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
