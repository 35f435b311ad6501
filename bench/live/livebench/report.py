"""The table, as Markdown that also reads as text."""
from . import figures


def _ms(us):
    if us is None:
        return "-"
    return f"{us / 1e3:.3f}" if us < 10000 else f"{us / 1e3:.1f}"


def _number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def _mid(value):
    return value["median"] if value else None


def _spread(value, show):
    """The median, and where there are repeats the range."""
    if not value:
        return "-"
    if value["n"] < 2:
        return show(value["median"])
    return f"{show(value['median'])} ({show(value['min'])}..{show(value['max'])})"


def table(head, rows):
    rows = [[str(c) for c in row] for row in rows]
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]

    def line(cells):
        return "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths)) + " |"
    return "\n".join([line(head), "|" + "|".join("-" * (w + 2) for w in widths) + "|",
                      *map(line, rows)])


HEAD = ["way", "p50 ms", "p99 ms", "p99 / alone", "batch, each of its rate alone", "sum",
        "wanted", "latency", "sum ok", "results"]


def _mix_row(row):
    own = row["ours"]
    return [row["way"],
            ", ".join(_spread(x.get("p50_us"), _ms) for x in row["latency"]),
            ", ".join(_spread(x.get("p99_us"), _ms) for x in row["latency"]),
            ", ".join(_spread(x.get("ratio"), _number) for x in row["latency"]),
            ", ".join(_number(_mid(x["part"])) for x in row["batch"]),
            _spread(row["sum"], _number), _number(row["sum_wanted"]) if own else "",
            row["latency_verdict"] if own else f"({row['latency_verdict'].lower()})",
            row["sum_verdict"] if own else "", row["identical_verdict"]]


def _share(group):
    """It is another in each way where late answers make a program ask less often."""
    row = next((r for r in group if r["way"] == "pools"), group[-1])
    return f"Latency programs' share of the time ({row['way']}): {_number(_mid(row['share']))}."


def _mixes(rows):
    parts = []
    for name in dict.fromkeys(r["group"] for r in rows):
        group = [r for r in rows if r["group"] == name]
        alone = ", ".join(f"{x['spec']} {_ms(_mid(x.get('alone_p50_us')))} / "
                          f"{_ms(_mid(x.get('alone_p99_us')))}" for x in group[0]["latency"])
        rates = ", ".join(f"{x['spec']} {_number(_mid(x['alone']))}/s" for x in group[0]["batch"])
        together = group[0]["mps_batch_only_sum"]
        more = f"; batch only, under MPS: sum {together:.2f}" if together else ""
        parts.append(f"### {name}: {group[0]['title']}\n\nAlone, p50 / p99 ms: {alone}; {rates}"
                     f"{more}. {_share(group)}\n\n"
                     + table(HEAD, [_mix_row(r) for r in group]) + _control(group))
    return parts


def _control(group):
    """Whether the programs were where the way says that they are."""
    body = []
    for row in group:
        for p in row["parts"]:
            reasons = sorted(p["stayed"].items(), key=lambda r: -r[1])
            body.append([row["way"], f"{p['name']} {p['spec']}", "; ".join(p["has"]),
                         p["launches"], _spread(p["coverage"], lambda v: _number(v, 4)),
                         ", ".join(f"{why} {n}" for why, n in reasons) or "-"])
    return "\n\nOn which SMs the programs were, and which of their launches:\n\n" + table(
        ["way", "program", "SMs", "launches", "on them", "others, by reason"], body) if body else ""


def _slices(cells):
    rows = figures.make_slices(cells)
    if not rows:
        return []
    body = [[r["slice_us"], _spread(r["p50_us"], _ms), _spread(r["p99_us"], _ms),
             _spread(r["sum"], _number), ", ".join(str(x) for x in r["read_back_us"])]
            for r in rows]
    return ["### The batch pool's slice\n\n100 us requests beside two 40 ms-kernel programs.\n\n"
            + table(["slice us", "p50 ms", "p99 ms", "sum", "read back us"], body)]


def _blocks(cells):
    rows, alone = figures.make_blocks(cells)
    if not rows:
        return []
    body = [[f"{r['block_us']:g}", r["mode"], _spread(r["p50_us"], _ms),
             _spread(r["p99_us"], _ms), _number(r["part"])] for r in rows]
    return [f"### Switch against drain\n\n100 us requests (alone {_ms(_mid(alone['p50_us']))} / "
            f"{_ms(_mid(alone['p99_us']))} ms) beside one program whose kernels of 40 ms consist "
            "of such blocks.\n\n"
            + table(["block us", "mode", "p50 ms", "p99 ms", "batch / alone"], body)]


def _context(cells):
    rows, alone = figures.make_context(cells)
    if not rows:
        return []
    body = [[r["name"], r.get("regs", "-"), r.get("reg_kib_per_sm", "-"),
             r.get("smem_kib_per_sm", "-"), _spread(r["p50_us"], _ms), _spread(r["p99_us"], _ms),
             _number(r["extra_us"], 0)] for r in rows]
    return ["### What a switch costs against the state in use\n\n100 us requests (alone "
            f"{_ms(_mid(alone['p50_us']))} ms in the median).\n\n"
            + table(["kernel", "registers", "registers KiB/SM", "shared KiB/SM", "p50 ms",
                     "p99 ms", "more than alone us"], body)]


def _parts(cells):
    rows = figures.make_parts(cells)
    if not rows:
        return []
    body = [[r["group"], r["start"], r["window"], r["n"]] + [
        _ms(r[f"{name}_{p}_us"]) for name in ("total", "before_and_after", "on_gpu", "longest_pause")
        for p in ("p50", "p99")] for r in rows]
    return ["### Where the time of a request goes\n\nRequests of 40 kernels as a CUDA graph. `on GPU` "
            "is from the first kernel's begin to the last one's end by the GPU's clock, `pause` the "
            "longest between two kernels, `rest` the time before and after. ms, p50 and p99.\n\n"
            + table(["mix", "start", "window", "n", "total", "p99", "rest", "p99", "on GPU", "p99",
                     "pause", "p99"], body)]


def _cold(cells):
    rows = figures.make_cold(cells)
    if not rows:
        return []
    return ["### A request that finds the caches cold\n\nAlone; `cold`: another kernel reads and writes "
            "256 MiB before each request, outside of its time.\n\n"
            + table(["program", "n", "p50 ms", "p99 ms"],
                    [[r["spec"], r["n"], _ms(r["p50_us"]), _ms(r["p99_us"])] for r in rows])]


def _sizes(cells):
    rows = figures.make_sizes(cells)
    if not rows:
        return []
    most = {r["spec"]: _mid(r["p99_us"]) for r in rows}  # the last is all of the GPU
    return ["### Alone on a part\n\nOne latency program at a time, nothing else on the GPU, by the "
            "policy `parts`.\n\n"
            + table(["program", "SMs", "p50 ms", "p99 ms", "p99 / on all"],
                    [[r["spec"], r["sms"], _spread(r["p50_us"], _ms), _spread(r["p99_us"], _ms),
                      _number(_mid(r["p99_us"]) / most[r["spec"]])] for r in rows])]


def _cost(cells):
    cost = figures.make_cost(cells)
    if not cost:
        return []
    cell, names = cost["cell"], list(cost["cell"]["start_ms"])
    start = [[n, *(_number(cell["start_ms"][n]["median"][k], 1) for k in
                   ("main_ms", "init_ms", "context_ms", "kernel_ms")),
              _number(cell["start_ms"][n]["median"].get("used_mib"), 0)] for n in names]
    launch = [[n, *(_number(cell["launch_ns"][n]["median"][k], 0) for k in
                    ("launch_ns", "launch_min_ns", "one_ns", "one_p99_ns", "graph_ns",
                     "graph_p99_ns"))] for n in names]
    checks = [[c["what"], _number(c["value"], 3), _number(c["limit"], 3), c["verdict"]]
              for c in cost["checks"]]
    return ["### What control costs\n\n"
            + table(["program", "main ms", "cuInit ms", "context ms", "first kernel ms", "memory MiB"],
                    start)
            + "\n\n" + table(["program", "launch ns", "least", "launch + wait", "its p99",
                              "graph + wait", "its p99"], launch)
            + "\n\n" + table(["what", "value", "limit", "verdict"], checks)]


def _failures(cells):
    bad = [c for c in cells if c.get("status") != "ok"]
    if not bad:
        return []
    return ["### Not measured\n\n" + "\n".join(
        f"- {c['id']}: {c.get('why', 'unknown')[:300]}".replace("\n", " ") for c in bad)]


def markdown(result):
    cells, rows = result["cells"], result["rows"]
    facts = result["machine"]
    head = ["# Live benchmark", "",
            ", ".join(str(facts.get(k)) for k in ("gpu", "driver", "cuda", "torch")
                      if facts.get(k)) + ". Merged from:", "",
            *(f"- {r['date']}, commit {r['commit'] or 'not given'}: `{r['command']}`"
              for r in result["runs"] or [facts]), "",
            "Latencies are from arrival to answer; percentiles by nearest rank. A program alone "
            "was measured in the same processes as `timeslice`. Several repeats: median "
            "(least..greatest). `wanted`: the sum that the batch programs must reach. Verdicts in "
            "brackets are for ways that have no target here."]
    if facts.get("fake"):
        head[0] = "# Live benchmark: DRY RUN, invented figures"
    parts = _mixes(rows) + _slices(cells) + _blocks(cells) + _context(cells) + _parts(cells) + \
        _sizes(cells) + _cold(cells) + _cost(cells) + _failures(cells)
    return "\n".join(head) + "\n\n" + "\n\n".join(parts) + "\n"
