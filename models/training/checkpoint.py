"""Release-form checkpoints: torch.save({'config': dict, 'model': state_dict}), f32."""

import os
from pathlib import Path

import torch

from model import SymbolicLight


def save_atomically(value, path):
    """torch.save under a temporary name, then rename: a reader never sees half a file."""
    path = Path(path)
    temporary = path.with_name(path.name + ".partial")
    torch.save(value, temporary)
    os.replace(temporary, path)


def save_release(model, path):
    state = model.state_dict()
    for key in state:
        state[key] = state[key].detach().cpu()
    save_atomically({"config": model.config, "model": state}, path)


def load_release(path, device="cpu"):
    """The model of a release checkpoint, in evaluation mode and f32; strict about keys and shapes."""
    stored = torch.load(path, map_location="cpu")
    weights = stored.get("model", stored.get("model_state_dict", stored))
    state = {}
    for key, value in weights.items():
        if "v_mem" in key:
            continue
        key = key.replace("module.", "").replace("_orig_mod.", "")
        state[key] = value.float() if value.is_floating_point() else value
    model = SymbolicLight(stored["config"])
    model.load_state_dict(state, strict=True)
    return model.to(device).eval()
