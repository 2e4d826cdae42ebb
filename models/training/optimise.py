"""What one training step minimises, and how far it moves."""

import math

import torch
import torch.nn.functional as F


def make_optimizer(model, args):
    """AdamW; only matrices decay, and the embedding, whose scale the LayerNorm after it removes, does not."""
    decayed, free = [], []
    for name, parameter in model.named_parameters():
        matrix = parameter.ndim == 2 and "embedding" not in name
        (decayed if matrix else free).append(parameter)
    groups = [{"params": decayed, "weight_decay": args.weight_decay}, {"params": free, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=args.peak_lr, betas=(0.9, 0.98))


def learning_rate(args, step, progress):
    """Linear warm-up by steps, then a cosine over the budget down to 1 % of the peak."""
    cosine = 0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))
    return args.peak_lr * min(1.0, (step + 1) / args.warmup_steps) * cosine


def activity_penalty(spikes, args):
    """Quadratic outside the wanted band of each layer's mean activity; keeps layers sparse and alive."""
    total = 0.0
    for name, s in spikes.items():
        if name != "tcam_in.0":  # the same tensor as the encoder's
            mean = s.mean()
            total = total + F.relu(mean - args.activity_high) ** 2 + F.relu(args.activity_low - mean) ** 2
    return args.activity_weight * total
