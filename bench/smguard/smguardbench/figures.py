"""From cells to the paper's figures."""
import statistics

from . import plan


def mean(values):
    values = [v for v in values if v is not None]
    return statistics.fmean(values) if values else None


def _ok(cells, group):
    return [c for c in cells if c["group"] == group and c["status"] == "ok"]


def _alone(cell, who, way):
    return mean([a[who]["us"] for a in cell["alone"] if a["way"] == way])


def _together(cell, who, way):
    return [r[who]["us"] for r in cell["repeats"] if r["way"] == way]


def _spread(values):
    quarters = statistics.quantiles(values, method="inclusive") if len(values) > 1 else 3 * values
    return {"mean": statistics.fmean(values), "median": statistics.median(values),
            "quarter": quarters[0], "three_quarters": quarters[2],
            "min": min(values), "max": max(values), "n": len(values)}


def pair_row(cell, reference="mps"):
    """Times in us. Alone is what the unchanged program takes, under `reference`."""
    ls, batch = cell["names"]
    row = {"pair": f"{ls}+{batch}", "ls": ls, "batch": batch, "ways": {}}
    alone = {who: _alone(cell, who, reference) for who in ("ls", "batch")}
    row["alone_us"] = alone
    for way in dict.fromkeys(r["way"] for r in cell["repeats"]):
        times = {who: _together(cell, who, way) for who in ("ls", "batch")}
        out = {who: _spread(t) for who, t in times.items()}
        if all(alone.values()):
            ntt = {who: out[who]["mean"] / alone[who] for who in out}
            out.update(ntt_ls=ntt["ls"], ntt_batch=ntt["batch"],
                       antt=(ntt["ls"] + ntt["batch"]) / 2,
                       stp=1 / ntt["ls"] + 1 / ntt["batch"])
        out["evictions"] = _evictions(cell, way, batch)
        row["ways"][way] = out
    base = row["ways"].get(reference)
    if base:
        for out in row["ways"].values():
            out["speedup"] = base["ls"]["mean"] / out["ls"]["mean"]
    return row


def _evictions(cell, way, batch):
    """What the daemon counted for the batch program in this cell."""
    stats = cell.get("stats", {}).get(way, {})
    work = [(stats.get(when, {}).get(batch) or {}).get("work") or {} for when in
            ("before", "after")]
    out = {}
    for name in ("requests", "tasks", "remapped", "evictions", "evicted_capsms", "resumes",
                 "launches_workers",
                 "launches_plain", "kernels_rewritten", "kernels_refused"):
        if name in work[1]:
            out[name] = work[1][name] - work[0].get(name, 0)
    if work[1].get("eviction_us"):
        out["eviction_us"] = work[1]["eviction_us"]
    return out


def make_pairs(cells, latency=plan.LS):
    order = [(ls, b) for ls in latency for b in plan.BATCH]
    found = [c for c in _ok(cells, "pair") if tuple(c["names"]) in order]
    return [pair_row(c) for c in sorted(found, key=lambda c: order.index(tuple(c["names"])))]


def make_alone(cells):
    """What being under control costs a program that has the GPU for itself, in the median: of one
    slow request in ten the mean makes as much as the cost is."""
    rows = []
    for cell in _ok(cells, "alone"):
        by_way = {}
        for r in cell["requests"]:
            by_way.setdefault(r["way"], []).append(r)
        row = {"kernel": cell["names"][0]}
        for way, requests in by_way.items():
            row[way] = {"us": _spread([r["us"] for r in requests]),
                        "gpu_us": _spread([r["gpu_us"] for r in requests])}
        if "mps" in row and "smguard" in row:
            row["turnaround"] = row["smguard"]["us"]["median"] / row["mps"]["us"]["median"]
        rows.append(row)
    order = list(plan.KERNELS)
    return sorted(rows, key=lambda r: order.index(r["kernel"]))


def make_reserve(cells):
    """Figure 10: the latency-sensitive kernel's time beside workers, anywhere (CapSMs) and
    gathered on whole SMs, over that beside a kernel that retreats from the other SMs."""
    rows = []
    for cell in _ok(cells, "reserve"):
        row = pair_row(cell, "capsm")
        ways = row["ways"]
        for way in ("capsm", "gathered"):
            if way in ways and "retreat" in ways:
                row[f"{way}_over_sm"] = ways[way]["ls"]["mean"] / ways["retreat"]["ls"]["mean"]
        rows.append(row)
    return rows


def make_burst(cells):
    rows = []
    for cell in _ok(cells, "burst"):
        alone = mean([a["us"] for a in cell["alone"]])
        points = [{"reserve": p["reserve"], "share": p["share"], "n": len(p["requests"]),
                   "slowdown": mean([r["us"] for r in p["requests"]]) / alone,
                   "loop_us": mean(p["loops"])} for p in cell["points"] if p["requests"]]
        rows.append({"pair": "+".join(cell["names"]), "alone_us": alone, "points": points})
    return rows


def remap_row(cell):
    r = cell["remap"]
    plain, workers = statistics.median(r["plain_us"]), statistics.median(r["workers_us"])
    row = {"kernel": cell["names"][0], "plain_us": plain, "workers_us": workers,
           "overhead": workers / plain, "task_us": r["task_us"],
           "longest_us": r["longest_us"],
           "tasks_per_worker": r["tasks_per_worker"], "units": r["units"], "same": r["same"]}
    if r["delay_us"]:
        delays = sorted(r["delay_us"])
        row["delay_us"] = {"n": len(delays), "mean": statistics.fmean(delays),
                           "median": statistics.median(delays), "max": delays[-1]}
    for way in ("remap", "relaunch"):
        samples = r.get(way)
        if samples:
            ratios = [s["us"] / s["ideal_us"] for s in samples]
            row[way] = {"n": len(ratios), "mean": statistics.fmean(ratios), "max": max(ratios),
                        "over_alone": statistics.fmean(s["us"] for s in samples) /
                        statistics.median(r["asking_us"])}
    return row


def make_remap(cells):
    order = list(plan.KERNELS)
    return [remap_row(c) for c in sorted(_ok(cells, "remap"),
                                         key=lambda c: order.index(c["names"][0]))]


def larger(pairs, alone):
    """What the paper gives of its larger program: how much shorter it takes than under MPS, and what control costs."""
    speed = [p["ways"]["smguard"]["speedup"] for p in pairs if "speedup" in p["ways"].get("smguard", {})]
    cost = [r["turnaround"] for r in alone if r["kernel"] in plan.LARGER and "turnaround" in r]
    return {"n_pairs": len(pairs), "speedup": mean(speed) if speed else None,
            "turnaround": mean(cost) if cost else None}


def summary(result):
    """What the paper gives as averages."""
    pairs, remap = result["pairs"], result["remap"]
    out = {"n_pairs": len(pairs)}
    for way in dict.fromkeys(w for p in pairs for w in p["ways"]):
        rows = [p["ways"][way] for p in pairs if way in p["ways"] and "antt" in p["ways"][way]]
        if not rows:
            continue
        speed = [r["speedup"] for r in rows if "speedup" in r]
        out[way] = {"speedup": mean(speed), "speedup_max": max(speed, default=None),
                    "speedup_min": min(speed, default=None),
                    "antt": mean([r["antt"] for r in rows]),
                    "antt_max": max(r["antt"] for r in rows),
                    "stp": mean([r["stp"] for r in rows]),
                    "ntt_ls": mean([r["ntt_ls"] for r in rows]),
                    "ntt_batch": mean([r["ntt_batch"] for r in rows])}
    alone = [r for r in result["alone"] if "turnaround" in r and r["kernel"] not in plan.LARGER]
    if alone:
        turnaround = [r["turnaround"] for r in alone]
        out["turnaround"], out["turnaround_max"] = mean(turnaround), max(turnaround)
        out["turnaround_n"] = min(r[w]["us"]["n"] for r in alone for w in ("mps", "smguard"))
    if remap:
        out["overhead"] = mean([r["overhead"] for r in remap])
        out["overhead_max"] = max(r["overhead"] for r in remap)
        for way in ("remap", "relaunch"):
            # Where each worker has one task there is nothing to hand over.
            rows = [r[way] for r in remap if way in r and r["tasks_per_worker"] >= 2]
            if rows:
                out[way] = {"mean": mean([r["mean"] for r in rows]),
                            "max": max(r["max"] for r in rows), "n": len(rows)}
        rows = [r for r in remap if "delay_us" in r and r["tasks_per_worker"] >= 2]
        if rows:
            out["delay_beyond_task_us"] = {
                k: max(r["delay_us"][k] - r["longest_us"] for r in rows)
                for k in ("median", "max")}
    for name in ("capsm_over_sm", "gathered_over_sm"):
        ratios = [r[name] for r in result["reserve"] if name in r]
        if ratios:
            out[name] = mean(ratios)
    return out


def make(cells):
    result = {"pairs": make_pairs(cells), "larger": make_pairs(cells, plan.LARGER), "alone": make_alone(cells),
              "reserve": make_reserve(cells), "burst": make_burst(cells),
              "remap": make_remap(cells)}
    result["summary"] = summary(result)
    result["summary"]["larger"] = larger(result["larger"], result["alone"])
    result["failed"] = [{"id": c["id"], "why": c.get("why")} for c in cells
                        if c["status"] != "ok"]
    return result
