#!/usr/bin/env python3
"""Checks an exported model with adapters against the PEFT library: EXPORTED is the model's directory, BASE that of the
frozen model (default: the one that EXPORTED/adapter names).

  python3 tools/check_adapter.py EXPORTED [BASE]

Needs torch, transformers (5.23 or newer, which stores experts fused) and peft (0.21 or newer). Compares the merged
weights with W + alpha / r B A, and the logits of PEFT's model, of its own merge and of the merged directory. Exits with
1 where they differ, with 2 where a package is missing.
"""
import json, sys
from pathlib import Path

TOLERANCE = 1e-6  # of a weight
LOGIT_TOLERANCE = 1e-5  # of a logit, relative to the largest one


def merged_weights(base, adapter, scale):
    """Returns the weights of `base` with those of `adapter` merged in."""
    merged = dict(base)
    for name, a in adapter.items():
        if not name.endswith(".lora_A.weight"):
            continue
        module = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
        b = adapter[name.replace(".lora_A.", ".lora_B.")]
        merged[module + ".weight"] = base[module + ".weight"] + scale * (b.double() @ a.double()).float()
    return merged


def read(folder):
    from safetensors.torch import load_file
    weights = {}
    for path in sorted(Path(folder).glob("*.safetensors")):
        weights.update({name: tensor.float() for name, tensor in load_file(path).items()})
    return weights


def check_weights(exported, base, adapter):
    settings = json.loads((adapter / "adapter_config.json").read_text())
    expected = merged_weights(read(base), read(adapter), settings["lora_alpha"] / settings["r"])
    actual = read(exported)
    if sorted(expected) != sorted(actual):
        return f"the tensors differ: {sorted(set(expected) ^ set(actual))[:3]}"
    worst = max(expected, key=lambda name: (expected[name] - actual[name]).abs().max())
    difference = (expected[worst] - actual[worst]).abs().max().item()
    print(f"merged weights: {difference:.1e} at most ({worst})")
    return "" if difference <= TOLERANCE else "the merged weights differ"


def check_logits(exported, base, adapter):
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    def load(folder):
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    merged, frozen = load(exported), load(base)
    tokens = torch.arange(3, 35).remainder(merged.config.vocab_size)[None]
    with torch.no_grad():
        expected, without = merged(tokens).logits, frozen(tokens).logits
        peft_model = PeftModel.from_pretrained(frozen, adapter).eval()
        differences = {"PEFT's model": peft_model(tokens).logits - expected}
        differences["PEFT's merge"] = peft_model.merge_and_unload()(tokens).logits - expected
    largest = expected.abs().max().item()
    print(f"logits: up to {largest:.3g}; the adapters change them by up to {(expected - without).abs().max():.1e}")
    for name, difference in differences.items():
        share = difference.abs().max().item() / largest
        print(f"{name}: {share:.1e} of the largest logit")
        if share > LOGIT_TOLERANCE:
            return f"the logits of {name} differ"
    return ""


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        import peft, safetensors, torch, transformers  # noqa: F401
    except ImportError as missing:
        print(f"{missing}; install peft, torch and transformers", file=sys.stderr)
        return 2
    exported = Path(sys.argv[1])
    adapter = exported / "adapter"
    named = json.loads((adapter / "adapter_config.json").read_text())["base_model_name_or_path"]
    base = sys.argv[2] if len(sys.argv) == 3 else named
    for check in (check_weights, check_logits):
        problem = check(exported, base, adapter)
        if problem:
            print(problem, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
