"""Trains the bundled model on one CPU thread or one GPU; resumable, and bound by a time budget.

Usage: python3 train.py --data FOLDER --out FOLDER --time-budget-minutes 90
Writes checkpoint.pt (best held-out loss so far, release form), tokenizer.model, metrics.json, log.jsonl and
train_state.pt, from which the same command goes on after an interruption.
"""

import argparse
import json
import math
import os
import shutil
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from checkpoint import load_release, save_atomically, save_release
from evaluate import dequantise_int8, evaluate
from initialise import initialise
from model import DEFAULT_CONFIG, SymbolicLight
from optimise import activity_penalty, learning_rate, make_optimizer
from windows import WindowSampler


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--time-budget-minutes", type=float, default=90.0)
    parser.add_argument("--steps", type=int, help="end after so many steps instead: the run is then reproducible")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--peak-lr", type=float, default=2e-3)
    parser.add_argument("--warmup-steps", type=int, default=100)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--activity-low", type=float, default=0.05)
    parser.add_argument("--activity-high", type=float, default=0.15)
    parser.add_argument("--activity-weight", type=float, default=20.0)
    parser.add_argument("--checkpoint-minutes", type=float, default=4.0)
    parser.add_argument("--eval-windows", type=int, default=48)
    for name in ("dropout", "embed_dim", "n_layers", "n_heads", "intermediate_dim"):
        kind = type(DEFAULT_CONFIG[name])
        parser.add_argument("--" + name.replace("_", "-"), type=kind, default=DEFAULT_CONFIG[name])
    return parser.parse_args()


class Run:
    """Everything that survives an interruption: weights, optimizer, step, seconds spent, best held-out loss."""

    def __init__(self, args):
        self.args = args
        config = {**DEFAULT_CONFIG, "dropout": args.dropout, "embed_dim": args.embed_dim, "n_layers": args.n_layers,
                  "n_heads": args.n_heads, "head_dim": args.embed_dim // args.n_heads,
                  "intermediate_dim": args.intermediate_dim}
        torch.manual_seed(args.seed)
        self.model = SymbolicLight(config)
        initialise(self.model, args.seed)
        self.model.to(args.device).train()
        self.optimizer = make_optimizer(self.model, args)
        self.step, self.seconds, self.best = 0, 0.0, math.inf
        self.state_path = args.out / "train_state.pt"
        if self.state_path.exists():
            state = torch.load(self.state_path, map_location=args.device)
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.seconds, self.best = state["step"], state["seconds"], state["best"]
        self.resumed_seconds, self.started = self.seconds, time.monotonic()

    def progress(self):
        """Share of the budget that is spent, by steps or by the clock."""
        self.seconds = self.resumed_seconds + time.monotonic() - self.started
        if self.args.steps:
            return self.step / self.args.steps
        return self.seconds / (60.0 * self.args.time_budget_minutes)

    def log(self, **entry):
        with open(self.args.out / "log.jsonl", "a", encoding="utf-8") as out:
            out.write(json.dumps({"step": self.step, "seconds": round(self.seconds), **entry}) + "\n")

    def checkpoint(self, train_loss):
        report = evaluate(self.model, self.args.data, self.args.eval_windows)
        self.log(train_loss=train_loss, held_out_loss=report["loss_nats"], activity=report["activity"])
        if report["loss_nats"] < self.best:
            self.best = report["loss_nats"]
            save_release(self.model, self.args.out / "checkpoint.pt")
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step,
                 "seconds": self.seconds, "best": self.best}
        save_atomically(state, self.state_path)


def train(run):
    """Steps until the budget is spent; returns the mean training loss since the last checkpoint."""
    args, model = run.args, run.model
    sampler = WindowSampler(args.data / "train.npz", model.config["max_seq_len"], args.batch, args.seed)
    saved_at, loss_sum, loss_count = run.seconds, 0.0, 0
    while (progress := run.progress()) < 1.0:
        torch.manual_seed(args.seed * 1_000_003 + run.step)  # dropout then depends on the step alone
        inputs, targets = (x.to(args.device) for x in sampler.at(run.step))
        for group in run.optimizer.param_groups:
            group["lr"] = learning_rate(args, run.step, progress)
        logits, spikes = model(inputs)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        run.optimizer.zero_grad(set_to_none=True)
        (loss + activity_penalty(spikes, args)).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not torch.isfinite(norm):
            raise SystemExit(f"step {run.step}: expected a finite gradient norm, found {float(norm)}")
        run.optimizer.step()
        run.step += 1
        loss_sum, loss_count = loss_sum + float(loss.detach()), loss_count + 1
        if run.step % 50 == 0:
            activity = {name: round(float(s.detach().mean()), 4) for name, s in spikes.items()}
            run.log(train_loss=loss_sum / loss_count, grad_norm=float(norm), activity=activity)
        if run.seconds - saved_at >= 60.0 * args.checkpoint_minutes:
            run.checkpoint(loss_sum / loss_count)
            saved_at, loss_sum, loss_count = run.seconds, 0.0, 0
    train_loss = loss_sum / loss_count if loss_count else None  # null when the last step was a checkpoint's
    run.checkpoint(train_loss)
    return train_loss


def write_metrics(run, train_loss):
    """metrics.json of the checkpoint that was kept."""
    model = load_release(run.args.out / "checkpoint.pt")
    f32 = evaluate(model, run.args.data)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    dequantise_int8(model)
    int8 = evaluate(model, run.args.data)
    tokens = run.step * run.args.batch * model.config["max_seq_len"]
    arguments = {key: str(value) if isinstance(value, Path) else value for key, value in vars(run.args).items()}
    metrics = {"parameters": parameters, "steps": run.step, "tokens": tokens, "train_seconds": round(run.seconds),
               "last_train_loss_nats": train_loss, "held_out_f32": f32, "held_out_int8": int8, "arguments": arguments,
               "config": model.config}
    temporary = run.args.out / "metrics.json.partial"
    temporary.write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    os.replace(temporary, run.args.out / "metrics.json")


def main():
    args = parse_arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(args.data / "tokenizer.model", args.out / "tokenizer.model")
    torch.set_flush_denormal(True)
    run = Run(args)
    train_loss = train(run)
    write_metrics(run, train_loss)


if __name__ == "__main__":
    main()
