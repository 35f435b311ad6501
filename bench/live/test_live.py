#!/usr/bin/env python3
"""Tests of the live benchmark that need no GPU: python3 bench/live/test_live.py"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from livebench import cells, control, curves, events, figures, process, programs, svg, ways

LIVE = os.path.dirname(os.path.abspath(__file__))
RUN = [sys.executable, os.path.join(LIVE, "run.py"), "--dry-run", "--seconds", "0.4"]


class Numbers(unittest.TestCase):
    def test_nearest_rank(self):
        values = list(range(1, 101))
        self.assertEqual([events.nearest_rank(values, p) for p in (1, 50, 99, 100)],
                         [1, 50, 99, 100])
        self.assertEqual(events.nearest_rank([7], 99), 7)
        self.assertIsNone(events.nearest_rank([], 50))

    def test_units_at_the_edges_count_in_part(self):
        units = [(0, 40, 1), (40, 80, 1), (80, 120, 1)]
        self.assertAlmostEqual(events.rate(units, 20, 100)["rate"] * 80e-9, 2.0)

    def test_a_stall_inside_a_unit_shows(self):
        self.assertEqual(events.rate([(0, 50_000_000, 1)], 0, 100_000_000)["longest_ms"], 50)

    def test_latency_counts_from_arrival(self):
        got = events.latency([(0, 100_000, 300_000), (10**9, 10**9, 10**9 + 5)], 0, 10**9)
        self.assertEqual((got["n"], got["p50_us"], got["service_p50_us"]), (1, 300.0, 200.0))
        self.assertEqual(events.unpack(got["raw_100ns"]), [3000])

    def test_pack(self):
        self.assertEqual(events.unpack(events.pack([0, 1, 2**32 - 1])), [0, 1, 2**32 - 1])


class Plan(unittest.TestCase):
    def test_ids_are_unique_and_ordered(self):
        plan = cells.make_cells(4, 3)
        self.assertEqual(len({c.id for c in plan}), len(plan))
        self.assertEqual([c.priority for c in plan], sorted(c.priority for c in plan))
        self.assertEqual(plan[0].group, "a1")

    def test_each_program_is_measured_alone_once(self):
        plain = next(c for c in cells.make_cells(4, 1) if c.id == "a4.plain.r0")
        self.assertEqual([w.label for w, _ in plain.windows],
                         ["alone:B1", "alone:L1", "timeslice"])

    def test_every_way_has_a_colour(self):
        self.assertEqual(set(svg.COLOURS), set(figures.WAY_ORDER))

    def test_rounds_repeat_what_varies(self):
        cell = next(c for c in cells.make_cells(4, 1, rounds=2) if c.id == "c1.pools.r0")
        self.assertEqual([w.label for w, _ in cell.windows],
                         ["latency-only", "pools", "pools", "pools-drain"])

    def test_requests_that_follow_closely_are_not_apart(self):
        ms = 10**6
        answers = [(0, 0, ms), (ms + 1000, ms + 1000, 3 * ms), (5 * ms, 5 * ms, 6 * ms)]
        got = events.latency(answers, 0, 10 * ms, raw=False)
        self.assertEqual((got["n"], got["apart_n"], got["apart_p99_us"]), (3, 1, 1000.0))

    def test_parts(self):
        got = events.parts([[5, 1000, 800, 10], [50, 2000, 900, 20]], 0, 10)
        self.assertEqual((got["n"], got["total_p50_us"], got["before_and_after_p99_us"]),
                         (1, 1.0, 0.2))

    def test_unknown_names(self):
        with self.assertRaises(ValueError):
            cells.choose(cells.make_cells(4, 1), ["a1.pool"])
        with self.assertRaises(ValueError):
            cells.only_ways(cells.make_cells(4, 1), ["parts65"])

    def test_sizes_of_each_latency_program(self):
        def cell(group):
            return next(c for c in cells.make_cells(4, 1) if c.id == f"{group}.parts.r0")
        self.assertIn("parts24-40-68", [w.label for w, _ in cell("c2").windows])
        self.assertNotIn("parts24-40-68", [w.label for w, _ in cell("c4").windows])

    def test_only_some_ways(self):
        chosen = cells.only_ways(cells.choose(cells.make_cells(4, 1), ["c3"]),
                                 ["pools", "parts64", "parts64-rest"])
        self.assertEqual({c.start: [w.label for w, _ in c.windows] for c in chosen},
                         {"plain": ["alone:B1", "alone:L1", "alone:L2"], "pools": ["pools"],
                          "parts": ["parts64", "parts64-rest"]})


class Control(unittest.TestCase):
    """What is said of programs on parts of the GPU."""

    @staticmethod
    def look(sms, followed, stayed, reasons):
        part = {"first": 0, "sms": sms, "gpu_sms": 132, "launches_followed": followed,
                "launches_stayed": stayed, "changes": 1, "stayed": reasons}
        return {"tenants": [{"name": "B1", "class": "batch", "sms": "64sm", "part": part,
                             "part_effect": None}]}

    def test_counts_are_of_the_window(self):
        before = self.look(64, 100, 10, {"launch-attribute": 10})
        after = self.look(64, 400, 110, {"launch-attribute": 10, "launch-captured": 100})
        part = control.of_window(before, after, 64)["B1"]
        self.assertEqual((part["launches_followed"], part["launches_stayed"], part["coverage"]),
                         (300, 100, 0.75))
        self.assertEqual(part["stayed"], {"launch-captured": 100})
        self.assertEqual(control.has_text(part), "64 of 132, from 0")

    def test_another_part_than_wanted_is_said(self):
        before, after = self.look(64, 0, 0, {}), self.look(132, 0, 0, {})
        part = control.of_window(before, after, 64)["B1"]
        self.assertEqual(control.has_text(part), "all 132, NOT 64, not all the time")
        self.assertIsNone(part["coverage"])

    def test_one_that_cannot_be_placed(self):
        after = {"tenants": [{"name": "B1", "class": "batch", "sms": None, "part": None,
                              "part_effect": "it has no shim"}]}
        part = control.of_window(after, after, 64)["B1"]
        self.assertEqual((control.has_text(part), part["says"]),
                         ("cannot be placed", "it has no shim"))


def mix_cell(start, label, p99_us, rate, notes):
    req = {"n": 100, "rate": 250, "p50_us": 100, "p99_us": p99_us}
    windows = [{"label": label, "t0_ns": 20, "t1_ns": 30,
                "programs": {"L1": req, "B1": {"rate": rate, "n": 9}}}]
    if start == "plain":
        windows = [{"label": "alone:B1", "t0_ns": 0, "t1_ns": 9,
                    "programs": {"B1": {"rate": 25.0, "n": 9}}},
                   {"label": "alone:L1", "t0_ns": 10, "t1_ns": 19,
                    "programs": {"L1": {**req, "p99_us": 150}}}] + windows
    return {"id": f"a1.{start}.r0", "group": "a1", "start": start, "rep": 0, "status": "ok",
            "windows": windows,
            "tenants": {"L1": {"spec": "req", "role": "latency"},
                        "B1": {"spec": "hog", "role": "batch", "notes": notes}}}


class Verdicts(unittest.TestCase):
    ALONE = mix_cell("plain", "timeslice", 2300, 24, [[8, 5, "a"], [16, 25, "b"]])

    def row(self, p99_us, rate, notes, start="pools"):
        rows = figures.make_rows([self.ALONE, mix_cell(start, start, p99_us, rate, notes)])
        return next(r for r in rows if r["way"] == start)

    def test_met(self):
        row = self.row(390, 24.5, [[8, 22, "a"]])
        self.assertEqual((row["latency_verdict"], row["sum_verdict"], row["identical_verdict"]),
                         ("met", "met", "same"))
        self.assertAlmostEqual(row["sum_wanted"], 0.95 * (1 - 0.025))

    def test_missed(self):
        row = self.row(410, 20, [[8, 22, "a"]])
        self.assertEqual((row["latency_verdict"], row["sum_verdict"]), ("MISSED", "MISSED"))

    def test_rotate_has_another_sum(self):
        self.assertEqual(self.row(390, 21, [], "rotate")["sum_verdict"], "met")

    def test_a_wrong_result_is_seen(self):
        self.assertEqual(self.row(390, 24.5, [[8, 22, "x"]])["identical_verdict"], "DIFFERENT")

    def test_only_what_was_made_alone_is_a_reference(self):
        row = self.row(390, 24.5, [[16, 22, "x"]])  # note 16 came while others ran
        self.assertEqual(row["identical"], ["not reached"])


class Choosing(unittest.TestCase):
    def test_the_document_says_what_its_results_say(self):
        done = subprocess.run([os.path.join(LIVE, "choose.py"), "--check",
                               os.path.join(LIVE, "../../docs/live.md")], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class Pictures(unittest.TestCase):
    def test_names_lie_on_nothing(self):
        names, points = curves._Names((0, 0, 300, 200)), [(150, 100), (154, 101), (290, 5)]
        for x, y in points:
            names.take((x - 4, y - 4, x + 4, y + 4))
        for x, y in points * 3:
            names.place(x, y, "parts64-rest")
        boxes = names.taken
        self.assertFalse([(a, b) for i, a in enumerate(boxes) for b in boxes[:i]
                          if curves._overlap(a, b) and b not in boxes[:3]])
        self.assertTrue(all(0 <= b[0] and b[2] <= 300 and 0 <= b[1] and b[3] <= 200
                            for b in boxes[3:]))

    def test_the_curve_goes_from_small_parts_to_large_ones(self):
        self.assertEqual([cells.DEALS[way].batch_sms for way in curves.CURVE],
                         sorted(d.batch_sms for d in cells.DEALS.values()
                                if d.batch_sms and not d.rest and not d.latency))

    def test_a_dark_page_has_its_colours(self):
        picture = svg.draw([], "title")
        self.assertIn('fill="#222" class="ink"', picture)
        self.assertIn(".ink{fill:#e8e8e8}", picture)


class OneGpu(unittest.TestCase):
    """--gpu: where it goes."""

    def environments(self, gpu):
        with mock.patch.dict(os.environ):
            process.choose_gpu(gpu)
            env = ways.Tools(LIVE, LIVE, True).environment("mark")
        return {way: ways.WAYS[way](ways.Tools(LIVE, LIVE, True), "/nowhere", env)
                .launch("B1", programs.PROGRAMS["hog"], [])[1][process.VISIBLE] for way in ("plain", "mps", "slo")}

    def test_the_one_gpu_of_an_mps_server_is_the_first_to_its_programs(self):
        self.assertEqual(self.environments("1"), {"plain": "1", "mps": "0", "slo": "1"})

    def test_a_uuid_means_the_same_to_all(self):
        self.assertEqual(set(self.environments("GPU-aa").values()), {"GPU-aa"})


class DryRuns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = os.path.join(self.folder.name, "out")
        self.addCleanup(self.folder.cleanup)

    def run_it(self, *arguments, **env):
        return subprocess.run([*RUN, "--out", self.out, *arguments], text=True, timeout=600,
                              capture_output=True, check=False, env={**os.environ, **env})

    def result(self):
        with open(os.path.join(self.out, "result.json")) as f:
            return json.load(f)

    def test_measures_resumes_and_merges(self):
        done = self.run_it("--only", "a1.plain,a1.mps")
        self.assertEqual(done.returncode, 0, done.stderr)
        again = self.run_it("--only", "a1.plain,a1.pools,a1.rotate")
        self.assertNotIn("] a1.plain", again.stdout)
        ways = {r["way"] for r in self.result()["rows"]}
        self.assertEqual(ways, {"timeslice", "mps-latency-only", "mps", "latency-only",
                                "pools", "pools-drain", "rotate"})
        for name in ("table.md", "plot.svg", "cells.json.gz"):
            self.assertGreater(os.path.getsize(os.path.join(self.out, name)), 500)

    def test_parts_of_the_gpu(self):
        done = self.run_it("--only", "a1.plain,a1.parts,a2.parts,c3.parts", "--ways",
                           "parts32,parts64-rest")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {(r["group"], r["way"]): r for r in self.result()["rows"]}
        for group in ("a1", "a2", "c3"):
            parts = {p["name"]: p for p in rows[group, "parts32"]["parts"]}
            self.assertEqual(parts["B1"]["has"],
                             ["16 of 132, from 0" if group == "a2" else "32 of 132, from 0"])
            if group == "a2":
                self.assertEqual(parts["B2"]["has"], ["16 of 132, from 16"])
            self.assertEqual(parts["L1"]["has"], ["all 132"])
            self.assertGreater(parts["B1"]["coverage"]["median"], 0.98)
        rest = {p["name"]: p["has"] for p in rows["c3", "parts64-rest"]["parts"]}
        self.assertEqual(rest["L1"], ["32 of 132, from 96"])
        with open(os.path.join(self.out, "curves.svg")) as f:
            self.assertIn(">parts64-rest<", f.read())
        with open(os.path.join(self.out, "table.md")) as f:
            self.assertIn("| parts64-rest | B2 hog  | 32 of 132, from 32 |", f.read())

    def test_new_cells_replace_old_ones_on_demand(self):
        files = []
        for name, arguments in (("old", ["--seconds", "0.5", "--repeats", "2"]), ("new", [])):
            self.run_it("--only", "a1.mps", "--cells", os.path.join(self.out, name), *arguments)
            files += ["--from", os.path.join(self.out, name + ".gz")]
            os.rename(os.path.join(self.out, "cells.json.gz"), files[-1])
        twice = [*files, *files[2:]]
        for arguments, expected in ((files, [("r0", 0.5), ("r1", 0.5)]),
                                    ([*files, "--again"], [("r0", 0.4)]),
                                    ([*twice, "--again"], [("r0", 0.4), ("r1", 0.4)])):
            done = self.run_it("--merge", "--cells", os.path.join(self.out, "merged"), *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([(c["id"].split(".")[-1], c["window_s"])
                              for c in self.result()["cells"]], expected)

    def test_sweeps(self):
        done = self.run_it("--only", "slices,blocks,context,cost,sizes")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = self.result()
        self.assertEqual(len(result["slices"]), len(cells.SLICES_US))
        self.assertEqual(len(result["blocks"]), 10)
        sizes = [(r["spec"], r["sms"]) for r in figures.make_sizes(result["cells"])]
        self.assertEqual(len(set(sizes)), 3 * len(cells.SIZES))
        self.assertEqual(len(result["cost"]["checks"]), 9)
        changes = result["cost"]["cell"]["set"]
        self.assertEqual({n: [r["sms"] for r in rows] for n, rows in changes.items()},
                         {"ahead": [96] * 3, "new": [40, 48, 56]})
        for row in changes["ahead"] + changes["new"]:
            self.assertLessEqual(row["acts_ms"], row["ms"])

    def test_a_failing_program_is_reported_and_tried_again(self):
        self.run_it("--only", "a1.mps", FAKE_FAIL="hog")
        cell = self.result()["cells"][0]
        self.assertIn("told to fail", cell["why"])
        self.assertIn("threads", cell["seen"])
        self.run_it("--only", "a1.mps")
        self.assertEqual(self.result()["cells"][0]["status"], "ok")

    def test_nothing_is_left_when_it_is_ended(self):
        with subprocess.Popen([*RUN, "--seconds", "9", "--only", "a1.pools", "--out", self.out],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            time.sleep(4)
            ours = [p for p in os.listdir("/proc") if p.isdigit() and
                    self.mark_of(p).startswith(f"{child.pid}-")]
            self.assertTrue(ours)
            child.send_signal(signal.SIGTERM)
            child.wait(30)
        self.assertFalse([p for p in ours if self.mark_of(p)])

    @staticmethod
    def mark_of(pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                for entry in f.read().split(b"\0"):
                    if entry.startswith(process.MARK.encode() + b"="):
                        return entry.split(b"=", 1)[1].decode()
        except OSError:
            pass
        return ""


if __name__ == "__main__":
    unittest.main()
