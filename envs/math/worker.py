"""The process in which answers are parsed and compared symbolically.

Run as a file of its own, so that it starts without importing acidtest. One JSON line in, {"gold", "answer"}; one
JSON line out, {"verdict"}. Answers are data: only math-verify's parser ever sees them. Whatever hangs or eats
memory here is killed from outside, and nothing here catches that.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import sys

MEMORY_BYTES = 4 * 2**30
"""Of address space. SymPy and its libraries take up about 1 GiB of it before anything is compared."""


def main() -> None:
    """Serve until standard input ends."""
    # Whatever a library prints must not be taken for an answer of ours.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    import math_verify  # noqa: F401, PLC0415  (slow: the limits come first)

    out.write("ready\n")
    out.flush()
    for line in sys.stdin:
        request = json.loads(line)
        out.write(json.dumps({"verdict": compare(request["gold"], request["answer"])}) + "\n")
        out.flush()


def compare(gold: str, answer: str) -> str:
    """`correct`, `wrong`, `unparsable_gold` or `no_answer` (the answer is no mathematics)."""
    from math_verify import verify  # noqa: PLC0415

    parsed_gold = _parse(gold)
    if not parsed_gold:
        return "unparsable_gold"
    parsed_answer = _parse(answer)
    if not parsed_answer:
        return "no_answer"
    equal = verify(parsed_gold, parsed_answer, timeout_seconds=None, float_rounding=10)
    return "correct" if equal else "wrong"


def _parse(text: str) -> list[object]:
    """What math-verify reads; choices such as `B` are read as text."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, StringExtractionConfig, parse  # noqa: PLC0415

    bare = text.strip()
    choice = bare.strip("()$. ").removeprefix("\\text{").removesuffix("}")
    if len(choice) == 1 and choice in "ABCDEFGHIJ":
        found = parse(choice, extraction_config=[StringExtractionConfig(tuple("ABCDEFGHIJ"))], parsing_timeout=None)
        return list(found)
    delimited = bare if "$" in bare or "\\[" in bare or "\\(" in bare else f"${bare}$"
    configuration = [LatexExtractionConfig(), ExprExtractionConfig()]
    return list(parse(delimited, extraction_config=configuration, parsing_timeout=None))


if __name__ == "__main__":
    main()
