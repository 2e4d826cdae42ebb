"""SymbolicLight V1 (arXiv:2605.21333), 0.8B form, for training: modules carry the release checkpoint's key names."""

import torch
import torch.nn.functional as F
from torch import nn

from attention import SparseAttention
from spikes import Membrane, Threshold

DEFAULT_CONFIG = {
    "vocab_size": 2048, "embed_dim": 192, "n_layers": 4, "n_heads": 6, "head_dim": 32, "intermediate_dim": 640,
    "max_seq_len": 256, "dropout": 0.05, "spike_threshold": 1.0, "leak_factor": 0.95, "rope_theta": 10000.0,
    "frontend_mode": "text", "sparse_attn_window": 128, "n_global_anchors": 4, "enable_sparse_attn": True,
    "enable_dynamic_prior": True,
}


def linear(n_in, n_out):
    return nn.Linear(n_in, n_out, bias=False)


class Frontend(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.text_embedding = nn.Embedding(config["vocab_size"], config["embed_dim"])


class SpikeEncoder(nn.Module):
    """Token ids -> spikes s0 and residual c0, both [batch, time, D]."""

    def __init__(self, config):
        super().__init__()
        self.frontend = Frontend(config)
        self.norm = nn.LayerNorm(config["embed_dim"])
        self.theta, self.leak = config["spike_threshold"], config["leak_factor"]

    def forward(self, ids):
        x = self.norm(self.frontend.text_embedding(ids))
        return Membrane.apply(x, self.theta, self.leak), x


class Mixer(nn.Module):
    """Per-head leaky average of the projected spikes, mixed with sparse attention over the residual."""

    def __init__(self, config):
        super().__init__()
        dim = config["embed_dim"]
        self.n_heads = config["n_heads"]
        self.decay_raw = nn.Parameter(torch.zeros(self.n_heads))
        self.attn_gate = nn.Parameter(torch.zeros(1))
        self.tcam_proj = linear(dim, dim)
        self.out_proj = linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.sparse_attn = SparseAttention(config) if config["enable_sparse_attn"] else None
        self.dropout = nn.Dropout(config.get("dropout", 0.0))

    def decay(self, a):
        """h_t = beta h_{t-1} + (1 - beta) a_t as a lower-triangular product, a [batch, time, D]."""
        batch, time, dim = a.shape
        steps = torch.arange(time, device=a.device)
        lag = (steps[:, None] - steps[None, :]).to(a.dtype)
        log_beta = F.logsigmoid(self.decay_raw)[:, None, None]
        weights = torch.exp(log_beta * lag.clamp(min=0)) * (lag >= 0) * -torch.expm1(log_beta)  # [H, time, time]
        # The batch goes into the columns: one large product a head is faster than one a sequence.
        columns = a.view(batch, time, self.n_heads, -1).permute(2, 1, 0, 3).reshape(self.n_heads, time, -1)
        mixed = torch.bmm(weights, columns).view(self.n_heads, time, batch, -1)
        return mixed.permute(2, 1, 0, 3).reshape(batch, time, dim)

    def forward(self, s, c):
        u = self.decay(self.tcam_proj(s))
        if self.sparse_attn is not None:
            gate = torch.sigmoid(self.attn_gate)
            u = gate * self.sparse_attn(c, s) + (1.0 - gate) * u
        return self.norm(c + self.dropout(self.out_proj(u)))


class SpikeFFN(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = linear(config["embed_dim"], config["intermediate_dim"])
        self.down = linear(config["intermediate_dim"], config["embed_dim"])
        self.norm = nn.LayerNorm(config["embed_dim"])
        self.dropout = nn.Dropout(config.get("dropout", 0.0))
        self.theta = config["spike_threshold"]

    def forward(self, c):
        f = Threshold.apply(self.up(c), self.theta)
        return self.norm(c + self.dropout(self.down(f))), f


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tcam = Mixer(config)
        self.ffn = SpikeFFN(config)

    def forward(self, s, c):
        return self.ffn(self.tcam(s, c))


class OutputHead(nn.Module):
    """logits = W_o c + p * prior, where prior is W_2 GELU(W_1 c), or a constant vector without dynamic prior."""

    def __init__(self, config):
        super().__init__()
        dim, vocab_size = config["embed_dim"], config["vocab_size"]
        self.prior_weight = nn.Parameter(torch.tensor(0.5))
        self.output_proj = linear(dim, vocab_size)
        if config["enable_dynamic_prior"]:
            self.prior_net = nn.Sequential(linear(dim, dim // 4), nn.GELU(), linear(dim // 4, vocab_size))
        else:
            self.log_prior = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, c):
        prior = self.prior_net(c) if hasattr(self, "prior_net") else self.log_prior
        return self.output_proj(c) + self.prior_weight * prior


class SymbolicLight(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.spike_encoder = SpikeEncoder(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config["n_layers"]))
        self.output_head = OutputHead(config)

    def forward(self, ids):
        """(logits [batch, time, V], spikes): spikes maps encoder, tcam_in.i and ffn_hidden.i to 0/1 tensors."""
        s, c = self.spike_encoder(ids)
        spikes = {"encoder": s}
        for index, block in enumerate(self.blocks):
            spikes[f"tcam_in.{index}"] = s
            c, spikes[f"ffn_hidden.{index}"] = block(s, c)
            if index + 1 < len(self.blocks):  # the last block's spikes would have no reader
                s = Threshold.apply(c, self.config["spike_threshold"])
        return self.output_head(c), spikes
