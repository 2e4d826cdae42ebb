"""Attention over the residual that sees only positions with spikes, inside a window plus a few anchors."""

import torch
from torch import nn


def visibility(n_queries, window, n_anchors, device=None):
    """bool [n, n]: key j is visible to query t when j <= t and (t - j <= window or j < anchors)."""
    pos = torch.arange(n_queries, device=device)
    lag = pos[:, None] - pos[None, :]
    return (lag >= 0) & ((lag <= window) | (pos[None, :] < n_anchors))


class Rope(nn.Module):
    """Half-split rotation; inv_freq is stored because the engine uses the stored values."""

    def __init__(self, head_dim, theta):
        super().__init__()
        exponent = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
        self.register_buffer("inv_freq", 1.0 / (theta**exponent))

    def tables(self, time):
        pos = torch.arange(time, device=self.inv_freq.device, dtype=torch.float32)
        angle = pos[:, None] * self.inv_freq[None, :]
        return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    """x [batch, heads, time, d] with pairs (j, j + d/2)."""
    low, high = x.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)


class SparseAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        dim, max_seq_len = config["embed_dim"], config["max_seq_len"]
        self.n_heads, self.head_dim = config["n_heads"], config["head_dim"]
        self.window, self.n_anchors = max(1, int(config["sparse_attn_window"])), config["n_global_anchors"]
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = nn.Linear(dim, dim, bias=False)
        self.rope = Rope(self.head_dim, config["rope_theta"])
        self.register_buffer("_cached_mask", visibility(max_seq_len, self.window, self.n_anchors))

    def split(self, x):
        batch, time, _ = x.shape
        return x.view(batch, time, self.n_heads, self.head_dim).transpose(1, 2)

    def forward(self, c, s):
        """c, s [batch, time, D] -> [batch, time, D]; positions without a spike in s neither ask nor are seen."""
        batch, time, dim = c.shape
        cos, sin = self.rope.tables(time)
        q = rotate(self.split(self.q_proj(c)), cos, sin) * self.head_dim**-0.5
        k = rotate(self.split(self.k_proj(c)), cos, sin)
        v = self.split(self.v_proj(c))
        active = s.detach().any(dim=-1)  # [batch, time]
        hidden = ~(visibility(time, self.window, self.n_anchors, c.device) & active[:, None, :])
        bias = torch.zeros(hidden.shape, dtype=c.dtype, device=c.device).masked_fill_(hidden, -1e30)
        scores = torch.matmul(q, k.transpose(-1, -2)) + bias[:, None]
        out = torch.matmul(torch.softmax(scores, dim=-1), v)
        # An active query sees at least itself, so only silent queries can have an empty row.
        out = out * active[:, None, :, None]
        return out.transpose(1, 2).reshape(batch, time, dim)
