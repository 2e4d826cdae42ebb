"""Checks the trainer's forward pass against a reference case: logits, and spike counts of every layer.

Usage: python3 verify_reference.py CASE_FOLDER...
A case folder holds model.pt, expected.safetensors and index.json. Exits 1 when a sequence disagrees.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import torch

from attention import visibility
from checkpoint import load_release

TOLERANCE = 5e-5
DTYPES = {"F32": np.float32, "I32": np.int32}


def read_safetensors(path):
    """{name: array}: 8 bytes of header length, a JSON header, then the tensors' bytes."""
    raw = Path(path).read_bytes()
    (header_bytes,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + header_bytes])
    data = raw[8 + header_bytes :]
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            arrays[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def count_differences(spikes, expected, tag, positions):
    """Positions whose number of active neurons differs, over all layers."""
    differences = 0
    for name in ("encoder", "tcam_in", "ffn_hidden"):
        rows = [spikes[key] for key in spikes if key.split(".")[0] == name]
        counts = np.stack([row[0].sum(dim=-1).int().numpy() for row in rows])
        want = np.atleast_2d(expected[f"{tag}.act_{name}"])[:, :positions]
        differences += int((counts != want).sum())
    return differences


@torch.no_grad()
def verify(folder):
    model = load_release(folder / "model.pt")
    for block in model.blocks:
        attention = block.tcam.sparse_attn
        if attention is not None:
            rule = visibility(attention._cached_mask.shape[0], attention.window, attention.n_anchors)
            assert torch.equal(attention._cached_mask, rule), f"{folder}: stored mask differs from the rule"
    expected = read_safetensors(folder / "expected.safetensors")
    good = True
    for sequence in json.loads((folder / "index.json").read_text())["sequences"]:
        tag = sequence["tag"]
        ids = np.concatenate((expected[f"{tag}.input_ids"], expected[f"{tag}.greedy_ids"][:20]))
        logits, spikes = model(torch.from_numpy(ids.astype(np.int64))[None])
        want = np.concatenate((expected[f"{tag}.full_logits"], expected[f"{tag}.decode_logits"]))
        error = float(np.abs(logits[0].numpy() - want).max())
        differing = count_differences(spikes, expected, tag, len(ids))
        passed = error <= TOLERANCE and differing == 0
        good = good and (passed or not sequence["robust"])
        verdict = "ok" if passed else ("FAILED" if sequence["robust"] else "differs (not robust)")
        print(f"{folder.name} {tag}: max |logit error| {error:.2e}, spike counts differing {differing}: {verdict}")
    return good


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    results = [verify(Path(argument)) for argument in sys.argv[1:]]
    raise SystemExit(0 if all(results) else 1)
