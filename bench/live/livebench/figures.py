"""From cells to rows: medians over repeats, ratios to alone, and whether the targets are met."""
import statistics

from . import control
from .cells import DEALS, GROUP_OF, GROUPS
from .programs import PROGRAMS, REQUEST_TARGET_US

RATIO_ONE, RATIO_TWO = 1.25, 1.5
SUM_POOLS, SUM_ROTATE = 0.95, 0.85
# For whom the targets are (draining is for programs with short blocks). The others are what one
# would use instead.
OURS = ("pools", "pools-solo", "rotate")
WAY_ORDER = ("timeslice", "mps-latency-only", "mps", "mps70", "mps50", "mps30", "latency-only",
             "pools", "pools-drain", "pools-solo", "rotate", "parts-latency-only", *DEALS)
FEWER_THREADS = ("mps70", "mps50", "mps30")


def spread(values):
    """Median, least and greatest; None where there is nothing."""
    values = [v for v in values if v is not None]
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "n": len(values)}


def _mid(value):
    return value["median"] if value else None


class Alone:
    """What each program reaches alone: in the same group and repeat, else in any."""

    def __init__(self, cells):
        self.values = {}
        for cell in cells:
            for window in cell.get("windows", []):
                kind, _, name = window["label"].partition(":")
                figures = window.get("programs", {}).get(name)
                if kind == "alone" and figures and figures.get("n") and cell["start"] == "plain":
                    spec = cell["tenants"][name]["spec"]
                    self.values.setdefault(spec, []).append((cell["group"], cell["rep"], figures))

    def get(self, spec, group, rep, key):
        all_of = self.values.get(spec, [])
        for wanted in ((group, rep), (group, None), (None, None)):
            values = [f[key] for g, r, f in all_of
                      if wanted[0] in (None, g) and wanted[1] in (None, r)]
            if values:
                return statistics.median(values)
        return None


class Notes:
    """Hashes of batch programs alone, by number of iterations."""

    def __init__(self, cells):
        self.alone, self.unsteady = {}, set()
        for cell in cells:
            if cell["start"] == "plain" and cell.get("windows"):
                self._add(cell)

    def _add(self, cell):
        shared = min((w["t0_ns"] for w in cell["windows"] if not w["label"].startswith("alone:")),
                     default=None)
        for window in cell["windows"]:
            kind, _, name = window["label"].partition(":")
            tenant = cell["tenants"].get(name, {})
            if kind != "alone" or not PROGRAMS[tenant["spec"]].checked:
                continue
            known = self.alone.setdefault(tenant["spec"], {})
            for n, when, value in tenant.get("notes", []):
                if when > window["t1_ns"] or (shared and when >= shared):
                    continue
                if known.setdefault(n, value) != value:
                    self.unsteady.add(tenant["spec"])

    def verdict(self, tenant):
        """'same (n)', 'DIFFERENT at n', or why nothing can be said."""
        spec = tenant["spec"]
        if not PROGRAMS[spec].checked:
            return "-"
        if spec in self.unsteady:
            return "not steady alone"
        known = self.alone.get(spec, {})
        common = [(n, value) for n, _, value in tenant.get("notes", []) if n in known]
        wrong = [n for n, value in common if known[n] != value]
        if wrong:
            return f"DIFFERENT at {wrong[0]}"
        return f"same ({max(n for n, _ in common)})" if common else "not reached"


def _one_window(cell, window, alone, notes):
    """The figures of one window of one cell."""
    out = {"latency": [], "batch": [], "identical": []}
    share = 0.0
    for name, figures in window.get("programs", {}).items():
        tenant = cell["tenants"][name]
        spec, group, rep = tenant["spec"], cell["group"], cell["rep"]
        if tenant["role"] == "latency":
            p50, p99 = (alone.get(spec, group, rep, k) for k in ("p50_us", "p99_us"))
            if not figures.get("n"):
                out["latency"].append({"spec": spec, "n": 0})
                continue
            share = None if share is None or p50 is None else share + figures["rate"] * p50 / 1e6
            out["latency"].append({
                "spec": spec, "n": figures["n"], "p50_us": figures["p50_us"],
                "p99_us": figures["p99_us"], "alone_p50_us": p50, "alone_p99_us": p99,
                "ratio": figures["p99_us"] / p99 if p99 else None})
        else:
            base = alone.get(spec, group, rep, "rate")
            out["batch"].append({"spec": spec, "rate": figures["rate"], "alone": base,
                                 "part": figures["rate"] / base if base else None})
            out["identical"].append(notes.verdict(tenant))
    parts = [b["part"] for b in out["batch"]]
    out["sum"] = sum(parts) if parts and None not in parts else None
    out["share"] = share
    out["daemon_cpu"] = window.get("daemon_cpu")
    parts = window.get("parts", {})
    out["parts"] = {name: {"spec": tenant["spec"], **parts[name]}
                    for name, tenant in cell["tenants"].items() if name in parts}
    return out


def _merge_parts(windows):
    """For each program: all parts that it had, and how many launches were on them."""
    rows = []
    for name in dict.fromkeys(name for w in windows for name in w["parts"]):
        parts = [w["parts"][name] for w in windows if name in w["parts"]]
        stayed = {}
        for reasons in (p["stayed"] for p in parts):
            for why, n in reasons.items():
                stayed[why] = stayed.get(why, 0) + n
        rows.append({"name": name, "spec": parts[0]["spec"],
                     "has": list(dict.fromkeys(control.has_text(p) for p in parts)),
                     "changes": sum(p["changes"] for p in parts),
                     "launches": sum(p["launches_followed"] + p["launches_stayed"] for p in parts),
                     "coverage": spread([p["coverage"] for p in parts]), "stayed": stayed,
                     "says": list(dict.fromkeys(p["says"] for p in parts if p["says"]))})
    return rows


def _merge_programs(windows, role, keys):
    merged = []
    for i, first in enumerate(windows[0][role]):
        rows = [w[role][i] for w in windows if i < len(w[role])]
        merged.append({"spec": first["spec"],
                       **{k: spread([r.get(k) for r in rows]) for k in keys}})
    return merged


def _latency_target(program, n_latency):
    """(limit, key): which figure of a latency program may be how large."""
    if program.short_request and n_latency == 1:
        return REQUEST_TARGET_US, "p99_us"
    return (RATIO_ONE if n_latency == 1 else RATIO_TWO), "ratio"


def _judge_latency(row):
    missed = 0
    for figures in row["latency"]:
        limit, key = _latency_target(PROGRAMS[figures["spec"]], len(row["latency"]))
        figures["limit"], figures["limit_key"] = limit, key
        value = _mid(figures.get(key))
        if value is None:
            return "?"
        missed += value > limit
    return "MISSED" if missed else "met"


def _judge_sum(row, together):
    """What the batch programs must reach together, and whether they do."""
    share, total = _mid(row["share"]), _mid(row["sum"])
    if total is None or share is None:
        return None, "?"
    if row["way"] == "rotate":
        wanted = SUM_ROTATE * (1 - share)
    else:
        wanted = SUM_POOLS * (together if together is not None else 1.0) * (1 - share)
    return wanted, "met" if total >= wanted else "MISSED"


def _identical(windows):
    """One word per batch program: the worst of all repeats."""
    words = []
    for i in range(len(windows[0]["identical"])):
        each = [w["identical"][i] for w in windows if i < len(w["identical"])]
        bad = [e for e in each if e.startswith("DIFFERENT")]
        words.append(bad[0] if bad else each[0])
    return words


def make_rows(cells):
    """Rows of mixes, in the order of the groups and ways."""
    cells = [c for c in cells if c.get("status") == "ok" and c.get("windows")]
    alone, notes = Alone(cells), Notes(cells)
    found = {}
    for cell in cells:
        if GROUP_OF.get(cell["group"]) is None or GROUP_OF[cell["group"]].kind != "mix":
            continue
        for window in cell["windows"]:
            if not window["label"].startswith("alone:") and window["programs"]:
                found.setdefault((cell["group"], window["label"]), []).append(
                    _one_window(cell, window, alone, notes))
    rows = []
    for group in GROUPS:
        together = _together(found.get((group.name, "mps-batch")))
        for way in WAY_ORDER:
            windows = found.get((group.name, way))
            if windows:
                rows.append(_row(group, way, windows, together))
    return rows


def _together(windows):
    return _mid(spread([w["sum"] for w in windows])) if windows else None


def _row(group, way, windows, together):
    row = {"group": group.name, "title": group.title, "way": way, "repeats": len(windows),
           "latency": _merge_programs(windows, "latency",
                                      ("n", "p50_us", "p99_us", "alone_p50_us", "alone_p99_us",
                                       "ratio")),
           "batch": _merge_programs(windows, "batch", ("rate", "alone", "part")),
           "sum": spread([w["sum"] for w in windows]),
           "share": spread([w["share"] for w in windows]),
           "daemon_cpu": spread([w["daemon_cpu"] for w in windows]),
           "mps_batch_only_sum": together, "ours": way in OURS,
           "identical": _identical(windows), "parts": _merge_parts(windows)}
    row["latency_verdict"] = _judge_latency(row)
    row["sum_wanted"], row["sum_verdict"] = _judge_sum(row, together)
    if way in FEWER_THREADS:  # libraries may choose other algorithms for fewer SMs
        row["identical"] = ["-" if w.startswith("DIFFERENT") else w for w in row["identical"]]
    row["identical_verdict"] = "DIFFERENT" if any(
        w.startswith("DIFFERENT") for w in row["identical"]) else "same" if any(
        w.startswith("same") for w in row["identical"]) else "-"
    return row


# ---- sweeps ----

def _latency_of(figures):
    return {k: figures.get(k) for k in ("n", "p50_us", "p99_us")}


def _alone_in(cell):
    for window in cell["windows"]:
        if window["label"] == "alone:L1":
            return _latency_of(window["programs"]["L1"])
    return {}


def make_slices(cells):
    """Per slice of the batch pool: the request's latency, the batch programs' sum."""
    cells = [c for c in cells if c.get("status") == "ok"]
    alone, rows = Alone(cells), {}
    for cell in cells:
        if cell["group"] != "slices":
            continue
        for window in cell["windows"]:
            kind, _, us = window["label"].partition(":")
            if kind != "slice":
                continue
            parts = [f["rate"] / base for name, f in window["programs"].items()
                     if name[0] == "B" and (base := alone.get("hog", "slices", 0, "rate"))]
            rows.setdefault(int(us), []).append(
                {**_latency_of(window["programs"]["L1"]), "sum": sum(parts) if parts else None,
                 "read_back": [p.get("slice_read_back_us") for p in
                               window.get("look", {}).get("pools", []) if p["name"] == "batch"]})
    return [{"slice_us": us, "p50_us": spread([r["p50_us"] for r in rs]),
             "p99_us": spread([r["p99_us"] for r in rs]), "sum": spread([r["sum"] for r in rs]),
             "read_back_us": rs[0]["read_back"]} for us, rs in sorted(rows.items())]


def _segments(cells, group):
    """(window, variant) -> figures, and what the request takes alone."""
    found, alone, variants = {}, [], {}
    for cell in cells:
        if cell["group"] != group or cell.get("status") != "ok":
            continue
        alone.append(_alone_in(cell))
        for v in cell["tenants"]["B1"].get("variants", []):
            variants[v["name"]] = v
        for s in cell.get("segments", []):
            key = (s["window"].partition(":")[2], s["variant"])
            found.setdefault(key, []).append(s["programs"])
    return found, {k: spread([a.get(k) for a in alone]) for k in ("p50_us", "p99_us")}, variants


def _of(programs, name, key):
    return spread([p.get(name, {}).get(key) for p in programs])


def make_blocks(cells):
    """Switched against drained, for blocks of several lengths."""
    found, alone, _ = _segments(cells, "blocks")
    rows = []
    for variant in sorted({v for _, v in found}, key=float):
        base = _mid(_of(found.get(("batch-alone", variant), []), "B1", "rate"))
        for mode in ("switch", "drain"):
            programs = found.get((mode, variant))
            if not programs:
                continue
            rate = _mid(_of(programs, "B1", "rate"))
            rows.append({"block_us": float(variant), "mode": mode,
                         "p50_us": _of(programs, "L1", "p50_us"),
                         "p99_us": _of(programs, "L1", "p99_us"),
                         "part": rate / base if base and rate else None})
    return rows, alone


def make_context(cells):
    """What is alive on each SM, and what a request then waits more than alone."""
    found, alone, variants = _segments(cells, "context")
    rows = []
    for (_, name), programs in found.items():
        p50 = _of(programs, "L1", "p50_us")
        extra = _mid(p50) - _mid(alone["p50_us"]) if p50 and alone["p50_us"] else None
        rows.append({**variants.get(name, {"name": name}), "p50_us": p50, "extra_us": extra,
                     "p99_us": _of(programs, "L1", "p99_us")})
    rows.sort(key=lambda r: r.get("reg_kib_per_sm", 0) + r.get("smem_kib_per_sm", 0))
    return rows, alone


def make_parts(cells):
    """What a request of many kernels is made of, per window."""
    rows = []
    for cell in cells:
        if GROUP_OF.get(cell["group"]) is None or cell.get("status") != "ok" or \
                GROUP_OF[cell["group"]].kind not in ("parts", "pair"):
            continue
        for window in cell["windows"]:
            parts = window["programs"].get("L1", {}).get("parts")
            if parts:
                rows.append({"group": cell["group"], "start": cell["start"],
                             "window": window["label"], **parts})
    return rows


def make_cold(cells):
    """A request alone, and alone after the caches have been wiped."""
    rows = []
    for cell in cells:
        if cell["group"] != "cold" or cell.get("status") != "ok":
            continue
        for window in cell["windows"]:
            name = window["label"].partition(":")[2]
            rows.append({"spec": cell["tenants"][name]["spec"],
                         **_latency_of(window["programs"][name])})
    return rows


def make_sizes(cells):
    """What requests take alone on so many SMs."""
    found = {}
    for cell in cells:
        if cell["group"] != "sizes" or cell.get("status") != "ok":
            continue
        for window in cell["windows"]:
            (name, f), = window["programs"].items()
            key = (cell["tenants"][name]["spec"], int(window["label"].partition(":")[2]))
            found.setdefault(key, []).append(f)
    return [{"spec": spec, "sms": n, "repeats": len(fs),
             **{k: spread([f[k] for f in fs]) for k in ("p50_us", "p99_us")}}
            for (spec, n), fs in found.items()]


def _check_part(on_part, without):
    """Until its first kernel has ended: parts are made before that begins."""
    more_ms = on_part["kernel_ms"] - without["kernel_ms"]
    checks = [("start-up on a part, ms more", more_ms, 30, more_ms <= 30)]
    if "used_mib" in on_part:
        more_mib = on_part["used_mib"] - without["used_mib"]
        checks.append(("its three parts, MiB", more_mib, 36, more_mib <= 36))
    return checks


def _check_set(rows):
    """What is made before the first launch, and what is made when nothing is queued."""
    ahead, new = [statistics.median(r["ms"] for r in rows[kind]) for kind in ("ahead", "new")]
    acts = [r["acts_ms"] for r in rows["new"] if r.get("acts_ms") is not None]  # older results: none
    first = [("the same to a new part: on a part of it, ms", statistics.median(acts), 50,
              statistics.median(acts) <= 50)] if acts else []
    return [("set beside 400 ms kernels, ms", ahead, 50, ahead <= 50), *first,
            ("the same to a new part, ms", new, 1000, new <= 1000)]


def make_cost(cells):
    """The last cost cell, and the targets of it."""
    done = [c for c in cells if c["group"] == "cost" and c.get("status") == "ok"]
    if not done:
        return None
    cell = done[-1]
    start, launch = cell["start_ms"], cell["launch_ns"]
    more_ms = start["cotenant run"]["median"]["context_ms"] - \
        start["without"]["median"]["context_ms"]
    more_ns = launch["cotenant run"]["median"]["launch_ns"] - \
        launch["without"]["median"]["launch_ns"]
    part = next((name for name in start if "--sms" in name), None)  # earlier runs had none
    noise_ns = max(launch["without"]["launch_ns"]) - min(launch["without"]["launch_ns"])
    cpu = [w["daemon_cpu"] for c in cells for w in c.get("windows", [])
           if w.get("daemon_cpu") is not None]
    kib = [k for c in cells for k in (c.get("memory") or {}).values()] + \
        ([cell["library_kib"]] if cell.get("library_kib") else [])
    checks = [("start-up, ms more", more_ms, 20, more_ms <= 20),
              ("launch, ns more", more_ns, max(noise_ns, 50), more_ns <= max(noise_ns, 50)),
              ("daemon, share of a core, worst window", max(cpu, default=None), 0.01,
               max(cpu, default=0) <= 0.01),
              ("library, KiB in a process, worst", max(kib, default=None), 1024,
               max(kib, default=0) <= 1024)]
    if part:
        checks += _check_part(start[part]["median"], start["without"]["median"])
    if cell.get("set"):
        checks += _check_set(cell["set"])
    return {"cell": cell, "checks": [
        {"what": w, "value": v, "limit": limit, "verdict": "?" if v is None else
         "met" if met else "MISSED"} for w, v, limit, met in checks]}
