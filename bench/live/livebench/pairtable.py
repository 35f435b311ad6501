"""From the windows of laius.py to figures and tables: which policy keeps the target of how many services, what the
batch programs get beside them, how far predictions are off, and what the policy itself costs."""
import re
import statistics

from . import judge
from .pairs import BASE, IN_ONE, KNOW, OVERHEAD, POLICIES, SIZED, knowledge


# ---- pairs ----

def _alone_rate(cells, spec):
    """Of a batch program alone, where another service was measured: it is the same program."""
    rates = [figures["rate"] for cell, window in judge.good_windows(cells) if window["way"] == "alone"
             for name, figures in window["programs"].items()
             if cell["tenants"][name]["spec"] == spec and figures.get("rate")]
    return statistics.median(rates) if rates else None


def _row(cells, cell, window, known):
    service = window["programs"].get("L1")
    batch = window["programs"].get("B1")
    if not service or not batch or "target_us" not in window:
        return None
    target_us, spec = window["target_us"]["L1"], cell["tenants"]["B1"]["spec"]
    rate = known.rate(spec) or _alone_rate(cells, spec)
    if not rate:
        return None
    return {"service": cell["group"][2:], "batch": spec, "load": window["load"], "factor": window["factor"],
            "way": window["way"], "target_us": target_us, "p99_us": service["p99_us"],
            "kept": service["p99_us"] is not None and service["p99_us"] <= target_us,
            "rate": batch["rate"] / rate, "of_left": batch["rate"] / rate / (1 - window["load"])}


def _merged(rows):
    """Repeats of a pair under a policy: medians."""
    first = dict(rows[0])
    p99 = [float("inf") if row["p99_us"] is None else row["p99_us"] for row in rows]
    middle = statistics.median(p99)
    first.update(p99_us=None if middle == float("inf") else middle, n=len(rows),
                 rate=statistics.median(row["rate"] for row in rows),
                 of_left=statistics.median(row["of_left"] for row in rows))
    first["kept"] = first["p99_us"] is not None and first["p99_us"] <= first["target_us"]
    return first


def _pairs(cells):
    found = {}
    for cell, window in judge.good_windows(cells):
        row = _row(cells, cell, window, judge.Known(cells, cell["group"])) if window["way"] in POLICIES else None
        if row:
            key = tuple(row[k] for k in ("service", "batch", "load", "factor", "way"))
            found.setdefault(key, []).append(row)
    return [_merged(rows) for _, rows in sorted(found.items())]


def _of_way(rows):
    """One line of the summary."""
    answered = [row["p99_us"] / row["target_us"] for row in rows if row["p99_us"]]
    return {"pairs": len(rows), "kept": sum(row["kept"] for row in rows),
            "rate": statistics.fmean(row["rate"] for row in rows),
            "of_left": statistics.fmean(row["of_left"] for row in rows),
            "worst": max(answered) if len(answered) == len(rows) else None}


def _points_over(rows, way, other):
    """Of the batch programs' rates, in pairs that were measured under both."""
    rates = {}
    for row in rows:
        rates.setdefault((row["service"], row["batch"], row["load"], row["factor"]), {})[row["way"]] = row["rate"]
    both = [100 * (r[way] - r[other]) for r in rates.values() if way in r and other in r]
    return {"pairs": len(both), "points": statistics.fmean(both)} if both else None


def _aside(cells):
    """Windows that no measurement of is good, and why."""
    return [{"service": cell["group"][2:], "batch": cell["tenants"]["B1"]["spec"], "load": w["load"],
             "factor": w["factor"], "way": w["way"], "why": "; ".join(w["problems"])}
            for cell in cells if cell.get("status") == "ok" for w in cell["windows"]
            if w.get("problems") and w["way"] in POLICIES]


# ---- predictions ----

def _whole_ns(text):
    """The time of a request on all SMs, of a knowledge file."""
    found = re.search(r"inputs:.*?time_ns: \[([0-9, ]+)\]", text, re.DOTALL)
    return int(found[1].split(",")[-1]) if found else None


def _service_us(cells, way, group):
    """Medians of a service's requests in the windows of it alone in this way, by load."""
    found = {}
    for _, window in judge.good_windows(cells, group):
        if window["way"] == way and (us := window["programs"].get("L1", {}).get("service_p50_us")):
            found.setdefault(window["load"], []).append(us)
    return {load: statistics.median(us) for load, us in found.items()}


def _predictions(cells):
    """What a service's request takes alone: as profiled, and as measured where predictions are used, in the MPS server
    of the policy (`base`, or under the policy where that is not there); and where it has the GPU for itself."""
    rows = []
    for name, text in knowledge(cells).items():
        known_ns, group = _whole_ns(text), f"p-{name}"
        there = _service_us(cells, BASE, group) or _service_us(cells, OVERHEAD, group)
        alone = _service_us(cells, "alone", group)
        for load, us in sorted(there.items() if known_ns else ()):
            rows.append({"service": name, "load": load, "profiled_us": known_ns / 1e3, "measured_us": us,
                         "error": abs(known_ns / 1e3 - us) / us, "alone_us": alone.get(load)})
    return rows


def _predictors(cells):
    """Errors for times that predictors have not seen, as `cotenant profile` says them: drawn at random, and by inputs."""
    own = [c for c in cells if c["group"] == KNOW and c["start"] == SIZED and c.get("status") == "ok"]
    said = own[0]["said"] if own else ""
    found = re.findall(r"^(tree|3 nearest|linear) +([0-9.]+) % +([0-9.]+) % +([0-9.]+) % +([0-9.]+) %", said, re.M)
    return [{"by": f[0], "random": float(f[1]), "random_worst": float(f[2]), "by_input": float(f[3]),
             "by_input_worst": float(f[4])} for f in found]


# ---- overhead ----

def _figure(cell, window):
    """What a program alone needs: the median of a request, or the time of an iteration."""
    (name, figures), = window["programs"].items()
    return figures.get("p50_us") if name == "L1" else 1 / figures["rate"] if figures.get("rate") else None


def _alone_figure(cells, cell, name, load):
    if name != "L1":
        spec = cell["tenants"][name]["spec"]
        rate = judge.Known(cells, cell["group"]).rate(spec) or _alone_rate(cells, spec)
        return 1 / rate if rate else None
    alone = [w["programs"]["L1"]["p50_us"] for _, w in judge.good_windows(cells, cell["group"])
             if w["way"] == "alone" and w["load"] == load and "L1" in w["programs"]]
    alone = [us for us in alone if us]
    return statistics.median(alone) if alone else None


def _overhead(cells):
    """Of a program alone under the policy: how much longer it takes than where it has the GPU for itself, and which part
    of that is the policy's, for it has MPS and parts with the policy `parts`, too."""
    rows = []
    for cell, window in judge.good_windows(cells):
        if window["way"] != OVERHEAD:
            continue
        (name,) = window["programs"]
        under, alone = _figure(cell, window), _alone_figure(cells, cell, name, window["load"])
        base = next((_figure(cell, w) for c, w in judge.good_windows(cells, cell["group"])
                     if c is cell and w["way"] == BASE and name in w["programs"]), None)
        if under and alone:
            rows.append({"program": cell["group"][2:] if name == "L1" else cell["tenants"][name]["spec"],
                         "cost": under / alone - 1, "of_policy": under / base - 1 if base else None})
    return rows


def make(cells):
    rows = _pairs(cells)
    ways = {way: _of_way(own) for way in POLICIES if (own := [row for row in rows if row["way"] == way])}
    return {"pairs": rows, "ways": ways,
            "over_baymax": {way: _points_over(rows, way, "baymax") for way in (*IN_ONE[1:], POLICIES[-1])},
            "aside": _aside(cells), "predictions": _predictions(cells), "predictors": _predictors(cells), "overhead": _overhead(cells),
            "profiles": sorted(c["start"] for c in cells if c["group"] == KNOW and c.get("status") == "ok")}


# ---- tables ----

def _table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def summary(result):
    """One line for each policy, and what else there are goals for."""
    rows = []
    for way, f in result["ways"].items():
        over = result["over_baymax"].get(way)
        rows.append([f"`{way}`", f"{f['kept']} of {f['pairs']}", "-" if f["worst"] is None else f"{f['worst']:.2f}",
                     f"{f['rate']:.3f}", f"{f['of_left']:.3f}", f"{over['points']:+.1f}" if over else "-"])
    text = _table(["policy", "targets kept", "worst p99 to its target", "batch programs get, of their rates alone",
                   "of what the service leaves", "points over Baymax"], rows)
    if result["predictions"]:
        mean = statistics.fmean(row["error"] for row in result["predictions"])
        text += f"\nPredictions of a request alone: {100 * mean:.1f} % off in the mean"
        text += f" ({len(result['predictions'])} services and loads).\n"
    for row in (row for row in result["predictors"] if row["by"] == "tree"):
        text += f"\nA tree's, for requests of {SIZED} that it has not seen: {row['random']:.1f} % drawn at random, "
        text += f"{row['by_input']:.1f} % by inputs.\n"
    if result["overhead"]:
        worst = max(result["overhead"], key=lambda row: row["cost"])
        text += f"\nA program alone pays {100 * worst['cost']:.1f} % at most ({worst['program']}), with MPS and parts"
        own = [row for row in result["overhead"] if row["of_policy"] is not None]
        most = max(own, key=lambda row: row["of_policy"]) if own else None
        text += f"; for the policy itself {100 * most['of_policy']:.1f} % at most ({most['program']}).\n" if most else ".\n"
    return text


def _cell_text(row, aside):
    if not row:
        return f"set aside: {aside['why']}" if aside else "-"
    p99 = "never" if row["p99_us"] is None else f"{row['p99_us'] / row['target_us']:.2f}"
    return f"{'' if row['kept'] else '**missed** '}{p99}, {row['rate']:.2f}"


def _pair_table(result):
    keys = dict.fromkeys((r["service"], r["batch"], r["load"], r["factor"])
                         for r in sorted((*result["pairs"], *result["aside"]), key=lambda r: (r["service"], r["batch"])))
    found, aside = ({(r["service"], r["batch"], r["load"], r["factor"], r["way"]): r for r in result[kind]}
                    for kind in ("pairs", "aside"))
    ways = [way for way in POLICIES if way in {row["way"] for row in (*result["pairs"], *result["aside"])}]
    rows = [[key[0], key[1], f"{key[2]:g}", f"{key[3]:g}",
             *(_cell_text(found.get((*key, way)), aside.get((*key, way))) for way in ways)] for key in keys]
    return _table(["service", "batch program", "load", "target, times alone", *(f"`{w}`" for w in ways)], rows)


def markdown(result):
    """table.md: the summary, and all that it is made of."""
    machine = result["machine"]
    text = f"# Laius beside others\n\n{machine.get('gpu') or 'No GPU: a dry run'}; {machine.get('date', '')}\n\n"
    text += summary(result)
    text += "\n## Pairs\n\np99 in parts of the target, and the batch program's rate in parts of its rate alone.\n\n"
    text += _pair_table(result)
    text += "\n## Predictions\n\nMeasured in the MPS server of the policy; alone: with the GPU for itself.\n\n" + _table(
        ["service", "load", "profiled, us", "measured, us", "off", "alone, us"],
        [[r["service"], f"{r['load']:g}", f"{r['profiled_us']:.1f}", f"{r['measured_us']:.1f}",
          f"{100 * r['error']:.1f} %", f"{r['alone_us']:.1f}" if r["alone_us"] else "-"] for r in result["predictions"]])
    if result["predictors"]:
        text += f"\nOf times of `{SIZED}` that were not seen, off in the mean and at worst:\n\n" + _table(
            ["predicted by", "drawn at random", "worst", "by inputs", "worst"],
            [[r["by"], *(f"{r[k]:.1f} %" for k in ("random", "random_worst", "by_input", "by_input_worst"))]
             for r in result["predictors"]])
    text += "\n## Overhead\n\n" + _table(["program alone", "costs", "of it the policy"], [
        [r["program"], f"{100 * r['cost']:.1f} %", "-" if r["of_policy"] is None else f"{100 * r['of_policy']:.1f} %"]
        for r in result["overhead"]])
    return text
