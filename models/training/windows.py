"""Training and held-out windows of a token array; every window begins with BOS, as a prompt does."""

import numpy as np
import torch

from data import BOS_ID


class WindowSampler:
    """Windows that begin at sentence openings, each opening once an epoch; the order follows from the seed alone."""

    def __init__(self, path, length, batch, seed):
        stored = np.load(path)
        self.ids = stored["ids"].astype(np.int64)
        self.starts = stored["starts"][stored["starts"] + length <= len(self.ids)]
        self.length, self.batch, self.seed = length, batch, seed
        self.epoch_steps = len(self.starts) // batch
        self.epoch, self.order = -1, None

    def at(self, step):
        """(inputs, targets) i64 [batch, length] of a step number, so that a resumed run sees the same windows."""
        epoch, offset = divmod(step, self.epoch_steps)
        if epoch != self.epoch:
            self.epoch = epoch
            self.order = np.random.default_rng([self.seed, epoch]).permutation(self.starts)
        starts = self.order[offset * self.batch : (offset + 1) * self.batch]
        targets = np.stack([self.ids[start : start + self.length] for start in starts])
        inputs = np.concatenate((np.full((self.batch, 1), BOS_ID), targets[:, :-1]), axis=1)
        return torch.from_numpy(inputs), torch.from_numpy(targets)


def held_out_windows(path, length):
    """(inputs, targets, scored, text_bytes): consecutive windows that score every held-out token once.

    BOS between chapters is given, never predicted; scored is false there and in the last window's padding.
    """
    stored = np.load(path)
    ids = stored["ids"].astype(np.int64)
    rows = -(-len(ids) // length)
    targets = np.zeros(rows * length, dtype=np.int64)
    targets[: len(ids)] = ids
    scored = np.arange(rows * length) < len(ids)
    scored &= targets != BOS_ID
    targets, scored = targets.reshape(rows, length), scored.reshape(rows, length)
    inputs = np.concatenate((np.full((rows, 1), BOS_ID), targets[:, :-1]), axis=1)
    return torch.from_numpy(inputs), torch.from_numpy(targets), torch.from_numpy(scored), int(stored["text_bytes"])
