#!/usr/bin/env python3
"""Tests of laius.py that need no GPU: python3 bench/live/test_laius.py. Where the environment names the emulated
one (docs/bench-live.md), a whole run on that."""
import json
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

import laius
from livebench import pairs, pairtable

LIVE = os.path.dirname(os.path.abspath(__file__))
EMULATED = "COT_BENCH_PRELOAD" in os.environ and "COT_BENCH_BIN" in os.environ
RUN = [sys.executable, os.path.join(LIVE, "laius.py"), "--dry-run", "--no-torch",
       "--services", "req", "--batch", "copy"]


def options(**more):
    return types.SimpleNamespace(**{"services": tuple(pairs.SERVICES), "batch": pairs.BATCH, "ways": pairs.POLICIES,
                                    "loads": (0.3,), "factors": (2.0,), "seconds": 8, "fixed_seconds": None,
                                    "low_seconds": None, "settle": 2, "sizes": [64, 128], **more})


class Plan(unittest.TestCase):
    def test_each_pair_is_measured_once_under_each_policy(self):
        found = [(c.group, c.batch, w.way) for c in pairs.make_starts(options()) for w, _ in c.windows
                 if w.way in pairs.POLICIES]
        wanted = {(f"p-{s}", (b,), way) for s in pairs.SERVICES for b in pairs.BATCH for way in pairs.POLICIES}
        self.assertEqual(len(wanted), 6 * 8 * 8)
        self.assertEqual((set(found), len(found)), (wanted, len(wanted)))

    def test_what_others_need_comes_first(self):
        starts = pairs.make_starts(options())
        at = {c.id: i for i, c in enumerate(starts)}
        self.assertEqual(len(at), 6 + 6 + 1 + 8 + 96)
        for c in starts:
            if c.group != pairs.KNOW and c.start != "alone":
                needed = (f"{c.group}.alone.r0", f"know.{c.group[2:]}.r0", f"know.{c.batch[0]}.r0")
                self.assertLess(max(at[cell] for cell in needed), at[c.id])

    def test_the_most_telling_comes_first(self):
        """Whoever stops half-way has whole pairs: all ways of a batch program beside all services."""
        starts = [c for c in pairs.make_starts(options()) if c.group != pairs.KNOW and c.start != "alone"]
        self.assertEqual([c.batch[0] for c in starts], [b for b in pairs.BATCH for _ in range(12)])
        self.assertEqual([c.id for c in starts[:2]], ["p-resnet-graph.pair-gemm.r0", "p-resnet-graph.slo-gemm.r0"])

    def test_each_program_is_measured_alone_under_the_policy_once(self):
        for way in (pairs.OVERHEAD, pairs.BASE):
            labels = [(c.group if w.label == f"{way}:L1" else c.batch) for c in pairs.make_starts(options())
                      for w, _ in c.windows if w.way == way]
            self.assertEqual(sorted(map(str, labels)), sorted([f"p-{s}" for s in pairs.SERVICES] +
                                                              [str((b,)) for b in pairs.BATCH]))

    def test_only_what_is_asked_for(self):
        starts = pairs.make_starts(options(services=("req",), batch=("copy",), ways=("slo",)))
        self.assertEqual([c.id for c in starts], ["know.req.r0", "p-req.alone.r0", "know.req-sizes.r0", "know.copy.r0",
                                                  "p-req.slo-copy.r0"])
        self.assertNotIn("know.req-sizes.r0", [c.id for c in pairs.make_starts(options(services=("gpt",)))])
        self.assertNotIn("know.req-sizes.r0", [c.id for c in pairs.make_starts(options(sizes=[]))])


def window(way, p99_us, rate, **more):
    return {"label": way, "way": way, "load": 0.3, "factor": 2.0, "target_us": {"L1": 1000},
            "programs": {"L1": {"p99_us": p99_us, "p50_us": p99_us / 3, "service_p50_us": 100.0}, "B1": {"rate": rate}},
            **more}


def alone():
    return {"group": "p-req", "start": "alone", "status": "ok", "service_us": {"L1": 90},
            "tenants": {"L1": {"role": "latency", "spec": "req@open"}, "B1": {"role": "batch", "spec": "copy"}},
            "windows": [{"label": "alone:L1@0.3", "way": "alone", "load": 0.3, "factor": 0,
                         "programs": {"L1": {"p99_us": 500.0, "p50_us": 110.0, "service_p50_us": 100.0}}},
                        {"label": "alone:B1", "way": "alone", "load": 0, "factor": 0,
                         "programs": {"B1": {"rate": 10.0}}}]}


def pair(*windows):
    return {**alone(), "start": "pair-copy", "windows": list(windows)}


class Figures(unittest.TestCase):
    def test_a_target_that_is_missed_counts_as_missed(self):
        made = pairtable.make([alone(), pair(window("laius", 900.0, 6.3), window("baymax", 1100.0, 2.8))])
        self.assertEqual({r["way"]: r["kept"] for r in made["pairs"]}, {"laius": True, "baymax": False})
        self.assertAlmostEqual(made["ways"]["laius"]["of_left"], 0.9)
        self.assertAlmostEqual(made["over_baymax"]["laius"]["points"], 35.0)
        self.assertIsNone(made["over_baymax"]["slo"])

    def test_repeats_count_as_one_pair(self):
        made = pairtable.make([alone(), *(pair(window("laius", us, 5.0)) for us in (900.0, 1100.0, 950.0))])
        self.assertEqual([(r["p99_us"], r["kept"], r["n"]) for r in made["pairs"]], [(950.0, True, 3)])
        self.assertEqual(made["ways"]["laius"]["pairs"], 1)

    def test_a_window_with_problems_counts_for_nothing(self):
        made = pairtable.make([alone(), pair(window("laius", 900.0, 6.3, problems=["it slept"]))])
        self.assertEqual(made["pairs"], [])

    def test_the_cell_says_that_its_window_was_set_aside(self):
        made = pairtable.make(
            [alone(), pair(window("laius", 900.0, 6.3, problems=["it slept"]), window("slo", 900.0, 5))])
        self.assertEqual([(r["way"], r["why"]) for r in made["aside"]], [("laius", "it slept")])
        text = pairtable.markdown({**made, "machine": {}})
        self.assertIn("| req | copy | 0.3 | 2 | set aside: it slept | 0.90, 0.50 |", text)

    def test_a_window_that_was_set_aside_is_measured_again(self):
        bad, good = window("laius", 900.0, 6.3, problems=["it slept"]), window("slo", 900.0, 5.0)
        first = {**pair(bad, good), "seconds": 9.0, "left_over": 0}
        self.assertEqual(laius.set_aside(first), {"laius"})
        self.assertEqual(laius.set_aside({"status": "failed", "windows": []}), set())
        second = {**pair(window("laius", 800.0, 6.0)), "seconds": 4.0, "left_over": 0}
        both = laius.with_again(first, second)
        self.assertEqual([(w["way"], w["programs"]["L1"]["p99_us"]) for w in both["windows"]],
                         [("laius", 800.0), ("slo", 900.0)])
        self.assertEqual((both["again"], both["seconds"], laius.set_aside(both)), ([bad], 13.0, set()))
        failed = laius.with_again(first, {"status": "failed", "why": "no",
                                  "seconds": 1.0, "left_over": 0, "windows": []})
        self.assertEqual((failed["again"], failed["windows"]), ("no", first["windows"]))

    def test_errors_of_predictors_are_those_that_profile_says(self):
        said = "PREDICTED BY  MEAN ERROR  WORST\ntree          3.1 %  9.0 %  7.5 %  20.0 %\n3 nearest  1.0 %  2.0 %  3.0 %  4.0 %\n"
        know = {"group": "know", "start": "req-sizes", "status": "ok",
                "windows": [], "knowledge": "inputs:\n", "said": said}
        made = pairtable.make([know])
        self.assertEqual([(r["by"], r["random"], r["by_input_worst"]) for r in made["predictors"]],
                         [("tree", 3.1, 20.0), ("3 nearest", 1.0, 4.0)])
        self.assertIn("3.1 % drawn at random, 7.5 % by inputs", pairtable.summary(made))

    def test_predictions_and_overhead(self):
        know = {"group": "know", "start": "req", "status": "ok", "windows": [],
                "knowledge": "sms: [8, 132]\ninputs:\n  - size: 0\n    time_ns: [900000, 95000]\n"}
        over = {"label": "over:B1", "way": "over", "load": 0, "factor": 2.0, "programs": {"B1": {"rate": 9.8}}}
        slower = {"label": "over:L1", "way": "over", "load": 0.3, "factor": 2.0, "programs": {"L1": {"p50_us": 121.0}}}
        base = {"label": "base:L1", "way": "base", "load": 0.3, "factor": 2.0,
                "programs": {"L1": {"p50_us": 118.0, "service_p50_us": 100.0}}}
        made = pairtable.make([know, alone(), pair(over, base, slower)])
        self.assertAlmostEqual(made["predictions"][0]["error"], 0.05)
        self.assertEqual([(r["program"], round(r["cost"], 3), r["of_policy"] and round(r["of_policy"], 3))
                          for r in made["overhead"]], [("copy", 0.02, None), ("req", 0.1, 0.025)])
        self.assertIn("10.0 % at most (req), with MPS and parts; for the policy itself 2.5 % at most (req)",
                      pairtable.summary(made))


class Runs(unittest.TestCase):
    """On the emulated GPU, or, without it, with stand-ins for everything and invented times."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, "out")
        self.again = os.path.join(folder.name, "again")
        self.doc = os.path.join(folder.name, "doc.md")

    def run_it(self, *arguments):
        own = ["--bin", os.environ["COT_BENCH_BIN"]] if EMULATED else []
        done = subprocess.run([*RUN, *own, "--budget", "150", "--parts", "32,132", "--sizes", "64,512",
                               "--requests", "5", "--seconds", "0.6",
                               "--settle", "0.2", *arguments], text=True, timeout=200, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def result(self):
        with open(os.path.join(self.out, "result.json")) as f:
            return json.load(f)

    def test_measures_judges_and_goes_on_where_it_stopped(self):
        ways = pairs.POLICIES if EMULATED else ("laius", "slo")
        some = ("--out", self.out, "--ways", ",".join(ways))
        self.assertIn("p-req.pair-copy.r0 (needs p-req.alone at these loads)",
                      self.run_it(*some, "--only", "p-req.pair-copy"))
        self.run_it(*some)
        result = self.result()
        self.assertEqual([(c["id"], c.get("why"), c.get("logs")) for c in result["cells"] if c["status"] != "ok"], [])
        self.assertEqual(result["profiles"], ["copy", "req", "req-sizes"])
        self.assertEqual([r["by"] for r in result["predictors"]], ["tree", "3 nearest", "linear"])
        self.check_judged(result, set(ways))
        self.check_explained(result)
        self.assertNotIn("] p-req", self.run_it(*some))  # all is there
        self.check_merged()

    def check_judged(self, result, ways):
        """Each way is judged. On the emulated GPU, on a busy machine, iterations do not follow each other: then a window
        was measured twice, and its cell says why it does not count."""
        cells = [c for c in result["cells"] if c["windows"]]
        windows = [w for c in cells for w in c["windows"]]
        for said in (text for w in windows for text in w.get("problems", [])):
            self.assertTrue(EMULATED and re.search(r"was at work in|arrivals instead of", said), said)
        for c in cells:
            self.assertEqual([c["id"] for w in c["windows"] if w.get("problems") and not c.get("again")], [])
        good = {w["label"].split("@")[0]: w["way"] for w in windows if not w.get("problems")}
        if "alone:B1" in good:
            self.assertEqual({r["way"] for r in result["pairs"]}, ways - {r["way"] for r in result["aside"]})
        self.assertEqual({r["program"] for r in result["overhead"]},
                         {name for name, role in (("copy", "B1"), ("req", "L1"))
                          if {f"alone:{role}", f"over:{role}"} <= set(good)})

    def check_explained(self, result):
        """The daemon knew the service's requests."""
        windows = [w for c in result["cells"] for w in c["windows"] if w["way"] == "laius"]
        self.assertEqual(len(windows), 1)
        if EMULATED:
            self.assertRegex(windows[0]["explain"]["L1"], r"not known +0,")

    def check_merged(self):
        """The tables from the raw data alone, and into a document."""
        with open(self.doc, "w") as f:
            f.write("Before\n<!-- laius-live -->\n<!-- end -->\nafter\n")
        self.run_it("--merge", "--from", os.path.join(self.out, "cells.json.gz"),
                    "--out", self.again, "--doc", self.doc)
        for name in ("table.md", "result.json", "cells.json.gz"):
            self.assertGreater(os.path.getsize(os.path.join(self.again, name)), 500)
        with open(self.doc) as f:
            self.assertRegex(f.read(), r"(?s)^Before\n.*\| `laius` \| . of 1 \|.*after\n$")


if __name__ == "__main__":
    unittest.main()
