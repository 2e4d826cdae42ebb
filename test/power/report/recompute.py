"""Figures of an experiment's folder, computed anew with Python's standard library alone, from docs/energy.md and the raw files.

    python3 recompute.py DIR > figures.json

Nothing is shared with the product: samples are cut into pieces and summed with fractions of nanoseconds, t quantiles come from
numerical integration of the density.
"""

import csv
import json
import math
import sys
from pathlib import Path

folder = Path(sys.argv[1])
plan = json.loads((folder / "plan.json").read_text())
journal = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
header = json.loads((folder / "parts/001/trace/trace.json").read_text())
step = header["traits"]["resolution_watts"]
accuracy = header["traits"]["accuracy"]
with open(folder / "parts/001/trace/samples.csv") as file:
    samples = [(int(row["t_ns"]), float(row["watts"])) for row in csv.DictReader(file)]
trim = round(plan["trim_s"] * 1e9)


def power(start, end):
    """Mean watts of a trimmed window, its length in s, and the standard uncertainties of the mean."""
    a, b = start + trim, end - trim
    energy = 0.0
    inside = []
    for (t0, _), (t1, watts) in zip(samples, samples[1:]):
        covered = min(t1, b) - max(t0, a)
        if covered > 0:
            energy += watts * covered / 1e9
        if a < t1 <= b:
            inside.append(watts)
    seconds = (b - a) / 1e9
    n = len(inside)
    mean = math.fsum(inside) / n
    squares = math.fsum((w - mean) ** 2 for w in inside)
    lagged = math.fsum((u - mean) * (v - mean) for u, v in zip(inside, inside[1:]))
    rho = lagged / squares
    independent = n if rho <= 0 else max(1, n * (1 - rho) / (1 + rho))
    watts = energy / seconds
    return {
        "watts": watts,
        "seconds": seconds,
        "accuracy": accuracy * watts / math.sqrt(3),
        "resolution": step / math.sqrt(12),
        "repeatability": math.sqrt(squares / (n - 1)) / math.sqrt(independent),
    }


def idle():
    windows = [power(int(e["from_ns"]), int(e["to_ns"])) for e in journal if e["kind"] == "idle"]
    assert len(windows) == 2
    watts = [w["watts"] for w in windows]
    spread = math.hypot(*(w["repeatability"] for w in windows)) / 2
    return {
        "watts": sum(watts) / 2,
        "resolution": step / math.sqrt(12),
        "repeatability": math.hypot(spread, abs(watts[0] - watts[1]) / math.sqrt(12)),
    }


rest = idle()


def run_figures(entry):
    with open(folder / entry["marks"]) as file:
        marks = [int(row["t_ns"]) for row in csv.DictReader(file)]
    windows = {"decode": (marks[0], marks[-1]), "full": (int(entry["sent_ns"]), int(entry["answered_ns"]))}
    found = {}
    for name, (start, end) in windows.items():
        p = power(start, end)
        tokens = sum(start + trim < t <= end - trim for t in marks)
        joules = p["watts"] * p["seconds"]
        net_watts = p["watts"] - rest["watts"]
        edges = math.sqrt(2) / math.sqrt(3) * joules / tokens**2
        per = p["seconds"] / tokens
        parts = [p["accuracy"] * per, p["resolution"] * per, p["repeatability"] * per, edges]
        net_parts = [
            accuracy * net_watts / math.sqrt(3) * per,
            math.hypot(p["resolution"], rest["resolution"]) * per,
            math.hypot(p["repeatability"], rest["repeatability"]) * per,
            math.sqrt(2) / math.sqrt(3) * net_watts * p["seconds"] / tokens**2,
        ]
        found[name] = {
            "tokens_in_window": tokens,
            "joules": joules,
            "j_per_token": joules / tokens,
            "u_j_per_token": math.hypot(*parts),
            "net_j_per_token": net_watts * p["seconds"] / tokens,
            "u_net_j_per_token": math.hypot(*net_parts),
            "paper_trimmed_j_per_token": joules / len(marks),
            "tokens_per_second": tokens / p["seconds"],
            "relative_resolution": p["resolution"] / p["watts"],
        }
    return {"block": entry["block"], "slot": entry["slot"], "arm": entry["arm"], **found}


def t_quantile(p, df):
    """Simpson's rule over the density, then halving."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)

    def cdf(t, pieces=4000):
        h = t / pieces
        density = [(1 + (i * h) ** 2 / df) ** (-(df + 1) / 2) for i in range(pieces + 1)]
        return 0.5 + scale * h / 3 * (density[0] + density[-1] + 4 * sum(density[1:-1:2]) + 2 * sum(density[2:-1:2]))

    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle) < p else (low, middle)
    return (low + high) / 2


def verdict(runs):
    base, candidate = (arm["name"] for arm in plan["arms"])
    effects, floors = [], []
    for block in sorted({run["block"] for run in runs}):
        own = [run for run in runs if run["block"] == block]
        logs = {arm: [math.log(r["decode"]["j_per_token"]) for r in own if r["arm"] == arm] for arm in (base, candidate)}
        effects.append(math.fsum(logs[candidate]) / 2 - math.fsum(logs[base]) / 2)
        floors.append(2 * sum(r["decode"]["relative_resolution"] ** 2 for r in own) / len(own))
    n = len(effects)
    d = math.fsum(effects) / n
    sd = math.sqrt(math.fsum((e - d) ** 2 for e in effects) / (n - 1))
    u_statistics, u_resolution = sd / math.sqrt(n), math.sqrt(sum(floors) / n)
    u = math.hypot(u_statistics, u_resolution)
    half = t_quantile(0.975, (n - 1) * (u / u_statistics) ** 4) * u
    signs = [sum(e if mask >> i & 1 else -e for i, e in enumerate(effects)) for mask in range(2**n)]
    extreme = sum(abs(s) >= abs(sum(effects)) * (1 - 1e-12) for s in signs)
    return {
        "ratio": math.exp(d),
        "low": math.exp(d - half),
        "high": math.exp(d + half),
        "sd_ln_ratio": sd,
        "u_resolution": u_resolution,
        "p": extreme / 2**n,
    }


runs = [run_figures(entry) for entry in journal if entry["kind"] == "run"]
print(json.dumps({"idle_watts": rest["watts"], "runs": runs, "verdict": verdict(runs)}, indent=1))
