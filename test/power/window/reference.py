"""An independent and slow account of a run's window, standard library only.

Reads a JSON array of cases from standard input: {rule, period, trim, from, to, latency, samples: [[t, watts or null], ...], tokens: [t, ...]},
times in seconds. Writes one object a case. Energy is the sum over a grid of one-millisecond midpoints of a power that is looked up sample by sample;
coverage and gaps are those of the same grid; the statistics take two passes over a list.
"""

import bisect
import json
import math
import sys

GRID = 0.001


def account(case):
    trim = max(case["trim"], 2 * case["period"] + case["latency"])
    begin, end = case["from"] + trim, case["to"] - trim
    good = [(t - case["latency"], w) for t, w in case["samples"] if w is not None]
    times = [t for t, _ in good]
    cells = round((end - begin) / GRID)
    joules = covered = 0.0
    longest = 2.5 * case["period"]
    gap = False
    for i in range(cells):
        t = begin + (i + 0.5) * (end - begin) / cells
        k = bisect.bisect_left(times, t)
        if k == 0 or k == len(times):
            continue
        t0, w0 = good[k - 1]
        t1, w1 = good[k]
        if t1 - t0 > longest:
            gap = True
            continue
        power = w1 if case["rule"] == "backward-rectangle" else w0 + (w1 - w0) * (t - t0) / (t1 - t0)
        joules += power * (end - begin) / cells
        covered += (end - begin) / cells
    inside = [w for t, w in good if begin < t <= end]
    n = len(inside)
    mean = math.fsum(inside) / n
    deviations = [w - mean for w in inside]
    squares = math.fsum(d * d for d in deviations)
    rho = math.fsum(a * b for a, b in zip(deviations, deviations[1:])) / squares
    n_eff = n if rho <= 0 else max(1, n * (1 - rho) / (1 + rho))
    tokens = sum(1 for t in case["tokens"] if begin < t <= end)
    return {
        "joules": joules,
        "coverage": covered / (end - begin),
        "gap": gap,
        "samples": n,
        "sd": math.sqrt(squares / (n - 1)),
        "u_rep": math.sqrt(squares / (n - 1) / n_eff),
        "tokens": tokens,
    }


json.dump([account(case) for case in json.load(sys.stdin)], sys.stdout)
