"""Held-out perplexity and activity of a checkpoint, in f32 and with INT8-dequantised weights.

Usage: python3 evaluate.py --checkpoint FILE --data FOLDER
Prints one JSON object.
"""

import argparse
import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from checkpoint import load_release
from windows import held_out_windows


@torch.no_grad()
def evaluate(model, data, max_windows=None, batch=8):
    """{loss_nats, perplexity, bits_per_byte, tokens, activity, silent_neurons} over the held-out windows.

    silent_neurons counts those that never fired. bits_per_byte divides the bits of all scored tokens by the bytes
    of the text they spell; it is left out for a part of the windows, whose bytes are not counted.
    """
    inputs, targets, scored, text_bytes = held_out_windows(data / "held_out.npz", model.config["max_seq_len"])
    rows = len(inputs) if max_windows is None else min(max_windows, len(inputs))
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    nats, tokens, fired, positions = 0.0, 0, {}, 0
    for begin in range(0, rows, batch):
        window = slice(begin, min(begin + batch, rows))
        logits, spikes = model(inputs[window].to(device))
        losses = F.cross_entropy(logits.flatten(0, 1), targets[window].flatten().to(device), reduction="none")
        keep = scored[window].flatten().to(device)
        nats += float(losses[keep].double().sum())
        tokens += int(keep.sum())
        positions += keep.numel()
        for name, s in spikes.items():
            fired[name] = fired.get(name, 0.0) + s.sum(dim=(0, 1), dtype=torch.float64)  # [neurons]
    model.train(was_training)
    report = {"loss_nats": nats / tokens, "perplexity": math.exp(nats / tokens), "tokens": tokens}
    if rows == len(inputs):
        report["bits_per_byte"] = nats / math.log(2.0) / text_bytes
    report["activity"] = {name: float(counts.mean()) / positions for name, counts in fired.items()}
    report["silent_neurons"] = {name: int((counts == 0).sum()) for name, counts in fired.items()}
    return report


@torch.no_grad()
def dequantise_int8(model):
    """Replaces every Linear weight by round-half-even(w / scale) * scale, scale = absmax / 127 a row, 1 for a zero row."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            scale = module.weight.abs().amax(dim=1, keepdim=True) / 127.0
            scale[scale == 0.0] = 1.0
            module.weight.copy_((module.weight / scale).round().clamp(-127, 127) * scale)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    model = load_release(args.checkpoint)
    report = {"f32": evaluate(model, args.data)}
    dequantise_int8(model)
    report["int8"] = evaluate(model, args.data)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
