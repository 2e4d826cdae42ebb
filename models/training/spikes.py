"""Thresholds with a surrogate gradient, and the encoder's leaky membrane.

Forward passes are the exact 0/1 threshold; only the backward pass is smoothed, with the ATan surrogate of
Fang et al. 2021 (arXiv:2007.05785): g'(u) = (a/2) / (1 + (pi/2 a u)^2), a = 2. Its tail decays only as
u^-2, so a neuron far below its threshold still receives gradient.
"""

import math

import torch

MEMBRANE_LIMIT = 3.0


def surrogate_slope(distance):
    """ATan slope at (value - threshold), any shape; 1 at the threshold."""
    return 1.0 / (1.0 + (math.pi * distance).square_())


class Threshold(torch.autograd.Function):
    """s = [x >= theta], elementwise 0/1 in x's dtype."""

    @staticmethod
    def forward(ctx, x, theta):
        ctx.save_for_backward(x)
        ctx.theta = theta
        return (x >= theta).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * surrogate_slope(x - ctx.theta), None


class Membrane(torch.autograd.Function):
    """Spikes of m <- clamp(leak m + x, -3, 3); s = [m >= theta]; m <- m (1 - s), along dim 1 of x [batch, time, dim].

    Written as one function because autograd over one graph node a time step costs more than the arithmetic.
    The reset is held constant in the backward pass, as Zenke & Vogels 2021 (10.1162/neco_a_01367) advise.
    """

    @staticmethod
    def forward(ctx, x, theta, leak):
        x_by_time = x.transpose(0, 1).contiguous()
        before_reset = torch.empty_like(x_by_time)
        m = torch.zeros_like(x_by_time[0])
        for x_t, before_t in zip(x_by_time.unbind(0), before_reset.unbind(0)):
            # The product is rounded before the sum: the engine's order.
            m.mul_(leak).add_(x_t).clamp_(-MEMBRANE_LIMIT, MEMBRANE_LIMIT)
            before_t.copy_(m)
            m.mul_(m < theta)
        ctx.save_for_backward(before_reset)
        ctx.theta, ctx.leak = theta, leak
        return (before_reset >= theta).to(x.dtype).transpose(0, 1)

    @staticmethod
    def backward(ctx, grad):
        (before_reset,) = ctx.saved_tensors
        direct = grad.transpose(0, 1) * surrogate_slope(before_reset - ctx.theta)
        inside = (before_reset.abs() < MEMBRANE_LIMIT).to(grad.dtype)
        kept = (before_reset < ctx.theta).to(grad.dtype).mul_(ctx.leak)
        grad_x = torch.empty_like(before_reset)
        carry = torch.zeros_like(before_reset[0])
        for t in range(before_reset.shape[0] - 1, -1, -1):
            torch.mul(carry.add_(direct[t]), inside[t], out=grad_x[t])
            if t:
                torch.mul(grad_x[t], kept[t - 1], out=carry)
        return grad_x.transpose(0, 1), None, None
