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

from livebench import pairs, pairtable

LIVE = os.path.dirname(os.path.abspath(__file__))
EMULATED = "COT_BENCH_PRELOAD" in os.environ and "COT_BENCH_BIN" in os.environ
RUN = [sys.executable, os.path.join(LIVE, "laius.py"), "--dry-run", "--no-torch",
       "--services", "req,req-graph", "--batch", "copy"]


def options(**more):
    return types.SimpleNamespace(**{"services": tuple(pairs.SERVICES), "batch": pairs.BATCH, "ways": pairs.POLICIES,
                                    "loads": (0.3,), "factors": (2.0,), "seconds": 8, "fixed_seconds": None,
                                    "low_seconds": None, "seeds": 1, "settle": 2, "sizes": [64, 128], **more})


class Plan(unittest.TestCase):
    def test_each_pair_is_measured_once_under_each_policy(self):
        found = [(dict(c.tenants())[w.active[0]].spec, c.batch, w.way) for c in pairs.make_starts(options())
                 for w, _ in c.windows if w.way in pairs.POLICIES]
        wanted = {(f"{s}@open", (b,), way) for s in pairs.SERVICES for b in pairs.BATCH for way in pairs.POLICIES}
        self.assertEqual(len(wanted), 6 * 8 * 8)
        self.assertEqual((set(found), len(found)), (wanted, len(wanted)))

    def test_what_others_need_comes_first(self):
        starts = pairs.make_starts(options())
        at = {c.id: i for i, c in enumerate(starts)}
        self.assertEqual(len(at), 6 + 1 + 1 + 8 + 3 * 8)
        for c in starts:
            if c.group != pairs.KNOW and c.start != "alone":
                needed = ("rows.alone.r0", f"know.{c.batch[0]}.r0", *(f"know.{s}.r0" for s in pairs.SERVICES))
                self.assertLess(max(at[cell] for cell in needed), at[c.id])

    def test_the_most_telling_comes_first(self):
        """Whoever stops half-way has whole rows, under the policies that tell most."""
        starts = [c for c in pairs.make_starts(options()) if c.group == pairs.ROWS and c.start != "alone"]
        self.assertEqual([c.start for c in starts], [
                         f"{kind}-{b}" for kind in ("row", "slo", "more") for b in pairs.BATCH])
        self.assertEqual([w.label for w, _ in starts[0].windows[:2]], ["laius2:L1@0.3+B1", "baymax2:L1@0.3+B1"])

    def test_each_program_is_measured_alone_under_the_policy_once(self):
        for way in (pairs.OVERHEAD, pairs.BASE):
            specs = [dict(c.tenants())[w.active[0]].spec for c in pairs.make_starts(options())
                     for w, _ in c.windows if w.way == way]
            self.assertEqual(sorted(specs), sorted([*(f"{s}@open" for s in pairs.SERVICES), *pairs.BATCH]))

    def test_one_program_or_pair_at_a_time(self):
        """Where a policy would count those at rest, too, those at work are told what it would give them alone."""
        for c in pairs.make_starts(options()):
            for w, _ in c.windows:
                self.assertEqual([n for n in w.active if n != "B1"][1:], [])
                self.assertEqual(getattr(w, "share", ""), {"base": "100%", "mps-priority": "100%", "mps-even": "50%"}
                                 .get(w.way, ""))

    def test_only_what_is_asked_for(self):
        starts = pairs.make_starts(options(services=("req",), batch=("copy",), ways=("slo",)))
        self.assertEqual([c.id for c in starts], ["know.req.r0", "rows.alone.r0", "know.copy.r0", "rows.slo-copy.r0",
                                                  "know.req-sizes.r0"])
        self.assertNotIn("know.req-sizes.r0", [c.id for c in pairs.make_starts(options(services=("gpt",)))])
        self.assertNotIn("know.req-sizes.r0", [c.id for c in pairs.make_starts(options(sizes=[]))])

    def test_only_what_was_set_aside_is_repaired(self):
        cells = [c for c in pairs.make_starts(options()) if c.start in ("row-gemm", "row-copy")]
        labels = [w.label for w, _ in cells[0].windows]
        measured = {"group": "rows", "start": "row-gemm", "rep": 0, "status": "ok", "windows": [
            {"label": label, "way": "laius", **({"problems": ["it slept"]} if label == labels[1] else {})}
            for label in labels]}
        self.assertEqual([(c.id, [w.label for w, _ in c.windows]) for c in pairs.repairs(cells, [measured])],
                         [("rows.row-gemm.r1", labels[1:2])])


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
        self.assertAlmostEqual(made["over_baymax"]["laius"]["points_kept"], 63.0)
        self.assertEqual([round(made["ways"][way]["rate_kept"], 3) for way in ("laius", "baymax")], [0.63, 0])
        self.assertIsNone(made["over_baymax"]["slo"])

    def test_what_the_policy_says_of_its_predictions(self):
        said = "policy  laius: ...\n  requests         1920, since\n  profile off      {} %, of\n  predictions off  {} %, the same\n"
        made = pairtable.make([alone(), pair(window("laius", 900.0, 6.3, explain={"L1": said.format("21.5", "3.0")}),
                                             window("laius", 900.0, 6.3, explain={"L1": said.format("10.5", "5")}),
                                             window("laius", 900.0, 6.3, explain={"L1": "policy  laius: ...\n"}))])
        self.assertEqual(made["predicted"], [{"service": "req", "windows": 2, "profile_off": 16.0, "off": 4.0}])
        self.assertIn("| req | 2 | 16.0 % | 4.0 % |", pairtable.markdown({**made, "machine": {}}))

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

    def test_what_was_repaired_is_no_longer_set_aside(self):
        first = pair(window("laius", 900.0, 6.3, problems=["it slept"]))
        made = pairtable.make([alone(), first, {**pair(window("laius", 800.0, 6.0)), "rep": 1}])
        self.assertEqual(([(r["way"], r["p99_us"]) for r in made["pairs"]], made["aside"]), ([("laius", 800.0)], []))

    def test_a_row_is_judged_by_the_service_that_was_asked(self):
        """Services by what they are, whatever they are called in a start; without a rate alone that in the same server."""
        tenants = {"L1": {"role": "latency", "spec": "gpt@open"}, "L2": {"role": "latency", "spec": "req@open"},
                   "B1": {"role": "batch", "spec": "gemm"}}
        asked = window("laius", 900.0, 6.0)
        asked["programs"]["L2"], asked["target_us"] = asked["programs"].pop("L1"), {"L2": 1000}
        base = {"label": "base:B1", "way": "base", "load": 0, "factor": 2.0, "programs": {"B1": {"rate": 12.0}}}
        made = pairtable.make([{"group": "rows", "start": "row-gemm", "status": "ok", "tenants": tenants,
                                "windows": [asked, base]}])
        self.assertEqual([(r["service"], r["batch"], r["kept"], r["rate"]) for r in made["pairs"]],
                         [("req", "gemm", True, 0.5)])

    def test_what_was_measured_alone_is_found_by_the_program(self):
        cell = next(c for c in pairs.make_starts(options(services=("gpt", "req"))) if c.start == "row-gemm")
        known = pairs.Known([alone()], cell)
        self.assertEqual((known.service_us, known.p99_us("L2", 0.3),
                         known.highest_load("L2")), ({"L2": 90}, 500.0, 0.3))
        self.assertTrue(known.knows(["L2"], {0.3}))
        self.assertFalse(known.knows(["L1", "L2"], {0.3}) or known.knows(["L2"], {0.6}))

    def test_who_works_where_it_was_to_rest_sets_the_window_aside(self):
        service = types.SimpleNamespace(name="L3", program=types.SimpleNamespace(role="latency"),
                                        events=[(5, 0, 20), (5, 9, 12), (30, 31, 40)])
        batch = types.SimpleNamespace(name="B1", program=types.SimpleNamespace(role="batch"), events=[(1, 10, 1)])
        self.assertEqual(pairs.stray(service, {"t0_ns": 10, "t1_ns": 30}), "L3 was to rest and did 1 things")
        self.assertIsNone(pairs.stray(batch, {"t0_ns": 10, "t1_ns": 30}))
        self.assertIsNotNone(pairs.stray(batch, {"t0_ns": 9, "t1_ns": 30}))

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
        self.assertIn("10.0 % at most (req), with MPS and parts; 2.5 % at most (req), for the policy itself",
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
        done = subprocess.run([*RUN, *own, "--budget", "400", "--parts", "32,132", "--sizes", "64,512",
                               "--requests", "5", "--seconds", "0.6",
                               "--settle", "0.2", *arguments], text=True, timeout=500, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def result(self):
        with open(os.path.join(self.out, "result.json")) as f:
            return json.load(f)

    def test_measures_judges_and_goes_on_where_it_stopped(self):
        ways = pairs.POLICIES if EMULATED else ("laius", "slo")
        some = ("--out", self.out, "--ways", ",".join(ways))
        self.assertIn("rows.row-copy.r0 (needs rows.alone of its services at these loads)",
                      self.run_it(*some, "--only", "rows.row-copy"))
        self.run_it(*some)
        result = self.result()
        self.assertEqual([(c["id"], c.get("why"), c.get("logs")) for c in result["cells"] if c["status"] != "ok"], [])
        self.assertEqual(result["profiles"], ["copy", "req", "req-graph", "req-sizes"])
        self.assertEqual([r["by"] for r in result["predictors"]], ["tree", "3 nearest", "linear"])
        self.check_judged(result, set(ways))
        self.check_explained(result)
        self.assertNotIn("] rows", self.run_it(*some))  # all is there
        self.check_merged(result)

    def check_judged(self, result, ways):
        """Each way is judged. On the emulated GPU, on a busy machine, iterations do not follow each other: then its cell
        says why it does not count."""
        windows = [w for c in result["cells"] for w in c["windows"]]
        for said in (text for w in windows for text in w.get("problems", [])):
            self.assertTrue(EMULATED and re.search(r"was at work in|arrivals instead of", said), said)
        good = {w["label"] for w in windows if not w.get("problems")}
        if "base:B1" in good:
            self.assertEqual({(r["service"], r["way"]) for r in (*result["pairs"], *result["aside"])},
                             {(s, way) for s in ("req", "req-graph") for way in ways})
        self.assertEqual({r["program"] for r in result["overhead"] if r["of_policy"] is not None},
                         {name for name, label in (("copy", ":B1"), ("req", "2:L1@0.3"))
                          if {f"base{label}", f"over{label}"} <= good})

    def check_explained(self, result):
        """The daemon knew each service's requests, and nothing was expected of the other one."""
        windows = [(w, w["active"][0]) for c in result["cells"] for w in c["windows"] if w["way"] == "laius"]
        measured = [(c["id"], [(w["label"], w["way"], w.get("problems"))
                     for w in c["windows"]]) for c in result["cells"]]
        self.assertEqual([name for _, name in windows], ["L1", "L2"], measured)
        for found, name in windows if EMULATED else ():
            self.assertRegex(found["explain"][name], r"not known +0,")
            self.assertEqual(list(found["target_us"]), [name])

    def check_merged(self, result):
        """The tables from the raw data alone, and into a document: a line for each way of which a window counts."""
        with open(self.doc, "w") as f:
            f.write("Before\n<!-- laius-live -->\n<!-- end -->\nafter\n")
        self.run_it("--merge", "--from", os.path.join(self.out, "cells.json.gz"),
                    "--out", self.again, "--doc", self.doc)
        for name in ("table.md", "result.json", "cells.json.gz"):
            self.assertGreater(os.path.getsize(os.path.join(self.again, name)), 500)
        with open(self.doc) as f:
            text = f.read()
        self.assertRegex(text, r"(?s)^Before\n.*\| policy \|.*after\n$")
        self.assertEqual(set(re.findall(r"^\| `(\S+)` \| . of . \|", text, re.M)), set(result["ways"]))


if __name__ == "__main__":
    unittest.main()
