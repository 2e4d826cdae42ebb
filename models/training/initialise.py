"""Starting weights at which neurons fire from the first step."""

import math

import torch
from torch import nn


@torch.no_grad()
def initialise(model, seed):
    """Scales are set by the width, so that about 10 % of every layer's neurons reach the threshold of 1.

    A standard deviation of 0.02, usual for wide models, leaves a narrow one almost silent: the sum over 192
    inputs then stays far below the threshold and no gradient sees a spike.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(weight, std):
        weight.copy_(torch.randn(weight.shape, generator=generator) * std)

    for module in model.modules():
        if isinstance(module, nn.Linear):
            normal(module.weight, 1.0 / math.sqrt(module.in_features))
    encoder, head = model.spike_encoder, model.output_head
    normal(encoder.frontend.text_embedding.weight, 0.1)
    # The membrane adds up about 1 / (1 - leak) inputs, so its input is kept small.
    encoder.norm.weight.fill_(0.4)
    for block in model.blocks:
        # Binary inputs at about 10 %: few terms in the sum, hence larger weights.
        normal(block.tcam.tcam_proj.weight, 2.0 / math.sqrt(block.tcam.tcam_proj.in_features))
        normal(block.ffn.down.weight, 2.0 / math.sqrt(block.ffn.down.in_features))
        block.tcam.norm.weight.fill_(0.8)
        block.ffn.norm.weight.fill_(0.8)
        # Time scales of the heads spread evenly from about 1 to 30 tokens.
        block.tcam.decay_raw.copy_(torch.linspace(-1.0, 3.5, block.tcam.n_heads))
    normal(head.output_proj.weight, 0.02)
    if hasattr(head, "prior_net"):
        normal(head.prior_net[2].weight, 0.02)
