"""Measures a cell. Sites (ways with their programs) stay from cell to cell, as long as they can."""
import json
import os
import random
import statistics
import subprocess
import time

from livebench.process import Failed

from . import apps, plan
from .ways import Site, size_arguments

LEAD_NS = 2_000_000     # until both programs have read their order and wait
BURST_WAIT_S = (0.002, 0.012)


class Runner:
    def __init__(self, tools, mark, options, sizes):
        self.tools, self.mark, self.options, self.sizes = tools, mark, options, sizes
        self.sites, self.group = {}, None
        self.wrong = []  # programs with wrong results, in the cell at hand
        self.later = {}  # names of the cells to come, by group
        self.rng = random.Random(options.seed)

    # ---- sites ----

    def _site(self, name):
        if name not in self.sites:
            self.sites[name] = Site(name, self.tools, self.mark, self.sizes, self.options)
        return self.sites[name]

    def prepare(self, cell):
        """Just its ways, with its programs in them, and those that its group needs later on.

        A latency-sensitive program has a share also while it does nothing, so of these there is
        just the one that is needed.
        """
        if self.group != cell.group:
            self.close()
            self.group = cell.group
        sites = [self._site(name) for name in cell.ways]
        others = [k for names in self.later.get(cell.group, ()) for k in names]
        for site in sites:
            for kernel in list(site.apps):
                if plan.role(kernel, cell.group) == "latency" and kernel not in cell.names:
                    site.end(kernel)
            for kernel in dict.fromkeys([*cell.names, *others]):
                role = plan.role(kernel, cell.group)
                if kernel not in site.apps and (kernel in cell.names or role == "batch"):
                    # What runs alone was compared with the CPU's when it ran in pairs.
                    site.start(kernel, role, cell.group != "alone")
            site.settle()  # all programs of all ways at once would wait for processors
        return sites

    def close(self):
        for name in list(self.sites):
            try:
                self.sites.pop(name).close()
            except (Failed, OSError):
                pass

    # ---- cells ----

    def run(self, cell):
        begin = time.monotonic()
        self.wrong = []
        result = {"id": cell.id, "group": cell.group, "names": cell.names, "status": "ok",
                  "sizes": {n: self.sizes[n] for n in cell.names}}
        try:
            result.update(getattr(self, "_" + cell.group)(cell))
        except (Failed, OSError, KeyError) as e:
            result.update(status="failed", why=f"{type(e).__name__}: {e}"
                          if not isinstance(e, Failed) else str(e),
                          logs={site.name: site.last_words() for site in self.sites.values()})
            self.close()
        if self.wrong:
            # Another run may show whether it was chance; its times tell nothing.
            counts = {n: self.wrong.count(n) for n in dict.fromkeys(self.wrong)}
            result.update(status="wrong", why="wrong results: " + ", ".join(
                f"{name} ({n} times)" for name, n in counts.items()))
        result["seconds"] = round(time.monotonic() - begin, 2)
        return result

    def _requests(self, who, gap_ms):
        """One request of each, the first at once and the others gap_ms later."""
        at_ns = time.monotonic_ns() + self.options.lead_ns
        for i, app in enumerate(who):
            app.tell(f"run {at_ns + round(i * gap_ms * 1e6)}")
        answers = [app.hear("run", self.options.patience_s) for app in who]
        self.wrong += apps.check(who, self.options.patience_s)
        first = answers[0]["start_ns"]
        for answer in answers:
            answer["start_us"] = round((answer.pop("start_ns") - first) * 1e-3, 1)
            answer.pop("end_ns")
            answer.pop("event")
        return answers

    def _together(self, cell):
        """Both programs in every way, in turn; and each alone."""
        ls, batch = cell.names
        sites = self.prepare(cell)
        repeats, alone = [], []
        before = {s.name: s.stats() for s in sites}
        for i in range(cell.repeats):
            for k in range(len(sites)):
                site = sites[(i + k) % len(sites)]
                both = self._requests([site.apps[batch], site.apps[ls]], self.options.gap_ms)
                repeats.append({"way": site.name, "ls": both[1], "batch": both[0]})
            if i >= plan.N_ALONE:
                continue
            for site in sites:
                alone.append({"way": site.name,
                              "ls": self._requests([site.apps[ls]], 0)[0],
                              "batch": self._requests([site.apps[batch]], 0)[0]})
        stats = {s.name: {"before": before[s.name], "after": s.stats()} for s in sites}
        return {"repeats": repeats, "alone": alone, "stats": stats,
                "programs": {s.name: {k: s.apps[k].ready for k in cell.names} for s in sites}}

    def _pair(self, cell):
        return self._together(cell)

    def _reserve(self, cell):
        return self._together(cell)

    def _alone(self, cell):
        """One program alone, in each way in turn. A request after one of another process
        takes up to a fifth longer, whatever the way: such a one goes before each that counts."""
        name = cell.names[0]
        sites, requests = self.prepare(cell), []
        for i in range(cell.repeats):
            for k in range(len(sites)):
                site = sites[(i + k) % len(sites)]
                for _ in range(2):
                    result = self._requests([site.apps[name]], 0)[0]
                requests.append({"way": site.name, **result})
        return {"requests": requests, "programs": {s.name: {name: s.apps[name].ready}
                                                   for s in sites}}

    def _burst(self, cell):
        """The batch program goes on and on; requests come at random. More and more is reserved."""
        ls, batch = cell.names
        site = self.prepare(cell)[0]
        request, hog = site.apps[ls], site.apps[batch]
        alone = [self._requests([request], 0)[0] for _ in range(plan.N_ALONE)]
        points = []
        for reserve in plan.BURST_RESERVES:
            share = 100 * reserve // plan.OF_SMS
            site.way.command(f"{ls} --reserve {share}%")
            site.way.command(f"{batch} --quota {100 - share}%")
            end_ns = time.monotonic_ns() + int(self._burst_s(cell) * 1e9)
            hog.tell(f"loop {end_ns}")
            answers = []
            # One in any case, though this thread may not have run until then.
            while not answers or time.monotonic_ns() < end_ns and len(answers) < cell.repeats:
                time.sleep(self.rng.uniform(*BURST_WAIT_S))
                answers.append(self._requests([request], 0)[0])
            points.append({"reserve": reserve, "share": share, "requests": answers,
                           "loops": self._end_of_loop(hog)})
        return {"alone": alone, "points": points, "programs": {site.name: {
            k: site.apps[k].ready for k in cell.names}}}

    def _burst_s(self, cell):
        alone_s = (self.sizes[cell.names[0]].get("ms") or 1.0) * 1e-3
        return cell.repeats * (4 * alone_s + sum(BURST_WAIT_S) / 2 + 0.01)

    def _end_of_loop(self, hog):
        """The times of the batch program's requests; each was checked."""
        times = []
        while True:
            line = json.loads(hog._line(self.options.patience_s))
            if line.get("event") == "looped":
                return times
            if line.get("same") is False:
                self.wrong.append(hog.name)
            if line.get("event") == "run":
                times.append(line["us"])

    def _remap(self, cell):
        """A program of its own, with the GPU for itself."""
        name = cell.names[0]
        self.close()
        program = os.path.join(self.tools.bin, "smguard-remap")
        argv = [program, *size_arguments(name, self.sizes[name], self.options),
                "--repeat", str(cell.repeats), "--evictions", str(2 * cell.repeats),
                "--remaps", str(max(1, cell.repeats // 3)), "--seed", str(self.options.seed),
                "--no-reference"]  # the plain kernels' results are checked in the pairs
        env = {**self.tools.environment(self.mark),
               **{k: v for k, v in os.environ.items() if k.startswith("COTENANT_EMU_")}}
        try:
            done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False,
                                  timeout=self.options.start_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"{program} did not end") from None
        if done.returncode:
            raise Failed(f"{program} ended with status {done.returncode}: "
                         f"{done.stderr.strip()[-300:]}")
        return {"remap": json.loads(done.stdout.splitlines()[-1])}


# ---- sizes ----

def first_sizes(tiny):
    return {n: {"blocks": k.tiny if tiny else k.blocks, "work": k.tiny_work if tiny else k.work}
            for n, k in plan.KERNELS.items()}


def rescaled(kernel, size, measured_ms):
    """The size that should take the kernel's target, from one that was measured."""
    if not kernel.exponent or measured_ms <= 0:
        return dict(size)
    factor = (kernel.target_ms / measured_ms) ** (1 / kernel.exponent)
    out = dict(size)
    if kernel.by_work:
        out["work"] = max(1, round(size["work"] * factor))
    else:
        out["blocks"] = max(1, min(kernel.most, round(size["blocks"] * factor)))
    if kernel.name == "matrixMul":
        out["blocks"] = round(out["blocks"] ** 0.5) ** 2
    return out


def calibrate(tools, mark, options):
    """Each kernel alone under MPS; those far from their target get another size, once."""
    sizes = first_sizes(options.tiny)
    for attempt in range(2):
        site = Site("mps", tools, mark, sizes, options)
        try:
            todo = [n for n in sizes if attempt == 0 or "ms" not in sizes[n]]
            for name in todo:
                site.start(name, "batch", False)
            site.settle()
            for name in todo:
                sizes[name]["ms"] = _alone_ms(site.apps[name], options)
                sizes[name]["per_sm"] = site.apps[name].ready["per_sm"]
                sizes["sms"] = site.apps[name].ready["sms"]
        finally:
            site.close()
        sms = sizes.pop("sms")
        if attempt or options.tiny:
            break
        for name, kernel in plan.KERNELS.items():
            off = sizes[name]["ms"] / kernel.target_ms
            wanted = rescaled(kernel, sizes[name], sizes[name]["ms"])
            if not 0.75 <= off <= 1.33 and wanted.get("blocks") != sizes[name].get("blocks") or \
                    kernel.by_work and not 0.75 <= off <= 1.33:
                wanted.pop("ms")
                sizes[name] = wanted
        if all("ms" in s for s in sizes.values()):
            break
    return sizes, sms


def _alone_ms(app, options):
    times = []
    for _ in range(3):
        app.tell("run 0")
        times.append(app.hear("run", options.patience_s)["us"])
        if apps.check([app], options.patience_s):
            raise Failed(f"{app.name}: a wrong result")
    return round(statistics.median(times) * 1e-3, 3)
