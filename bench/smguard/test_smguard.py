#!/usr/bin/env python3
"""Tests of the bench: python3 bench/smguard/test_smguard.py [FOLDER OF THE PROGRAMS]

With a folder the whole bench runs as well, with tiny kernels on the emulated GPU.
"""
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "live")]

from smguardbench import apps, figures, measure, plan, report, svg, ways  # noqa: E402

BIN = None
RUN = [sys.executable, os.path.join(HERE, "run.py")]


def request(us):
    return {"us": us, "gpu_us": us, "launches": 1, "start_us": 0}


def pair_cell(ls="nn", batch="md5"):
    """Alone 1 and 10 ms; together 20 and 10 under MPS, 2 and 12.5 under smguard."""
    repeats = [{"way": "mps", "ls": request(us), "batch": request(10000)} for us in
               (19000, 21000)]
    repeats.append({"way": "smguard", "ls": request(2000), "batch": request(12500)})
    alone = [{"way": w, "ls": request(1000 * f), "batch": request(10000 * f)}
             for w, f in (("mps", 1.0), ("smguard", 1.02))]
    stats = {"smguard": {"before": {batch: {"work": {"evictions": 3}}},
                         "after": {batch: {"work": {"evictions": 10}}}}}
    return {"id": f"pair.{ls}.{batch}", "group": "pair", "names": [ls, batch], "status": "ok",
            "repeats": repeats, "alone": alone, "stats": stats}


def remap_cell(tasks_per_worker=8.0):
    sample = {"units": 66, "of_units": 132, "at_us": 5000, "ideal_us": 15000}
    return {"id": "remap.mm", "group": "remap", "names": ["mm"], "status": "ok", "remap": {
        "plain_us": [10000, 10100, 9900], "workers_us": [10200] * 3, "delay_us": [110, 120, 130],
        "asking_us": [10300], "task_us": 100.0, "longest_us": 90.0,
        "tasks_per_worker": tasks_per_worker, "units": 132, "same": True,
        "remap": [{**sample, "us": 16500}], "relaunch": [{**sample, "us": 22500}]}}


class Figures(unittest.TestCase):
    def test_a_pair(self):
        row = figures.pair_row(pair_cell())
        mps, ours = row["ways"]["mps"], row["ways"]["smguard"]
        self.assertAlmostEqual(mps["antt"], (20 + 1) / 2)
        self.assertAlmostEqual(mps["stp"], 1 / 20 + 1)
        self.assertAlmostEqual(ours["speedup"], 10)
        self.assertAlmostEqual(ours["antt"], (2 + 1.25) / 2)
        self.assertAlmostEqual(ours["stp"], 0.5 + 0.8)
        self.assertEqual(ours["evictions"]["evictions"], 7)

    def test_whole_sms(self):
        cell = {**pair_cell(), "id": "reserve.nn.md5", "group": "reserve", "alone": [
            {"way": "capsm", "ls": request(1000), "batch": request(10000)}], "repeats": [
                {"way": w, "ls": request(us), "batch": request(20000)}
                for w, us in (("capsm", 9000), ("gathered", 1800), ("retreat", 1500))]}
        result = figures.make([cell])
        self.assertAlmostEqual(result["summary"]["capsm_over_sm"], 6)
        self.assertAlmostEqual(result["summary"]["gathered_over_sm"], 1.2)
        self.assertIn("| nn+md5 | 1 | 9 | 1.8 | 1.5 | 6.00 | 1.20 |", report.markdown(result))
        self.assertIn("on whole SMs", svg.draw_all(result)["figure10.svg"])

    def test_the_summary(self):
        s = figures.make([pair_cell(), remap_cell()])["summary"]
        self.assertAlmostEqual(s["smguard"]["speedup"], 10)
        self.assertAlmostEqual(s["overhead"], 1.02)
        self.assertAlmostEqual(s["remap"]["mean"], 1.1)
        self.assertAlmostEqual(s["relaunch"]["mean"], 1.5)
        self.assertAlmostEqual(s["delay_beyond_task_us"]["median"], 30)
        self.assertAlmostEqual(s["delay_beyond_task_us"]["max"], 40)

    def test_alone(self):
        requests = [{"way": w, **request(us)} for w, us in
                    (("mps", 100), ("smguard", 104), ("mps", 100), ("smguard", 106),
                     ("mps", 100), ("smguard", 105))]
        cell = {"id": "alone.nn", "group": "alone", "names": ["nn"], "status": "ok",
                "requests": requests}
        self.assertAlmostEqual(figures.make([cell])["summary"]["turnaround"], 1.05)
        requests += [{"way": "mps", **request(100)}, {"way": "smguard", **request(900)}]  # one slow
        result = figures.make([cell])
        self.assertAlmostEqual(result["summary"]["turnaround"], 1.055)
        text = report.markdown({**result, "machine": {}})
        self.assertIn("+5.5 %, +5.5 % at most; n = 4", text)
        self.assertIn("| nn | 4 | 0.1 (0.1 to 0.1; 0.1) | 0.105 (0.105 to 0.304; 0.9) | +5.5 % |",
                      text)

    def test_one_task_per_worker_is_no_remapping(self):
        self.assertNotIn("remap", figures.make([remap_cell(1.0)])["summary"])

    def test_a_failed_cell_is_named_and_not_counted(self):
        broken = {"id": "pair.nn.mm", "group": "pair", "names": ["nn", "mm"], "status": "failed",
                  "why": "it ended"}
        result = figures.make([pair_cell(), broken])
        self.assertEqual(result["summary"]["n_pairs"], 1)
        self.assertIn("pair.nn.mm: it ended", report.markdown({**result, "machine": {}}))

    def test_pages_are_whole(self):
        result = {**figures.make([pair_cell(), remap_cell()]), "machine": {"gpu": "G"}}
        self.assertIn("| nn+md5 |", report.markdown(result))
        pictures = svg.draw_all(result)
        self.assertEqual({"figure12.svg", "figure13.svg", "figure14.svg", "figure15.svg",
                          "figure16.svg", "figure17.svg"}, set(pictures))
        for text in pictures.values():
            xml.etree.ElementTree.fromstring(text)

    def test_the_larger_program_is_in_no_average(self):
        cell = pair_cell()
        other = {**cell, "id": "pair.lu.md5", "names": ["lu", "md5"]}
        alone, both = figures.make([cell])["summary"], figures.make([cell, other])["summary"]
        self.assertEqual(both["larger"]["n_pairs"], 1)
        self.assertEqual(both["larger"]["speedup"], alone["smguard"]["speedup"])
        self.assertEqual({k: v for k, v in both.items() if k != "larger"},
                         {k: v for k, v in alone.items() if k != "larger"})
        self.assertIn("| lu+md5 |", report.markdown({**figures.make([cell, other]), "machine": {}}))

    def test_nothing_measured(self):
        result = {**figures.make([]), "machine": {}}
        self.assertIn("0 of 24 pairs", report.markdown(result))
        self.assertEqual(svg.draw_all(result), {})


class Plan(unittest.TestCase):
    def test_the_papers_pairs(self):
        cells = plan.make_cells(20, ("mps", "smguard"))
        pairs = [c for c in cells if c.group == "pair"]
        self.assertEqual(sum(c.names[0] in plan.LS for c in pairs), 24)
        self.assertEqual([c.names[0] for c in pairs[24:]], ["lu"] * len(plan.BATCH))
        self.assertEqual(plan.role("lu", "pair"), "latency")
        self.assertEqual(len({c.id for c in cells}), len(cells))
        self.assertFalse(any(c.group == "reserve" for c in cells))

    def test_choosing(self):
        cells = plan.make_cells(20, ("mps",))
        self.assertEqual(len(plan.choose(cells, ["pair.nn.*", "remap"])), 6 + len(plan.KERNELS))
        self.assertEqual(plan.role("nn", "alone"), "batch")
        with self.assertRaises(ValueError):
            plan.choose(cells, ["pair.xx"])

    def test_sizes_follow_the_measured_time(self):
        mm, mc, bfs = plan.KERNELS["mm"], plan.KERNELS["mc"], plan.KERNELS["bfs"]
        size = measure.rescaled(mm, {"blocks": 128 * 128}, mm.target_ms / 8)
        self.assertEqual(size["blocks"], 256 * 256)
        self.assertEqual(measure.rescaled(mc, {"blocks": 96, "work": 100}, mc.target_ms * 2),
                         {"blocks": 96, "work": 50})
        self.assertEqual(measure.rescaled(bfs, {"blocks": 3907}, 1.0), {"blocks": 3907})
        most = plan.KERNELS["md5"].most
        self.assertEqual(measure.rescaled(plan.KERNELS["md5"], {"blocks": 1000}, 0.01)["blocks"],
                         most)


class Configuration(unittest.TestCase):
    """What the daemon of a way reads."""

    def test_which_tasks_are_short(self):
        tools = types.SimpleNamespace(short_task_us=1000, cotenantd=[], cotenant=[])
        for name, expected in (("smguard", "adapt_task_us: 1000"), ("fixed", "adapt_task_us: 0")):
            with tempfile.TemporaryDirectory() as folder, \
                    open(ways.WAYS[name](tools, folder, {}).configure(), encoding="utf-8") as f:
                self.assertEqual(f.read().splitlines()[1:], ["policy: smguard", expected])


class SecondGpu(unittest.TestCase):
    """An MPS server that sees one GPU only shows it as the first."""

    def test_its_number_for_programs(self):
        for visible, seen in (("1", "0"), ("GPU-1234", "GPU-1234")):
            way = ways.PlainMps(None, "folder", {"CUDA_VISIBLE_DEVICES": visible})
            self.assertEqual(way.env["CUDA_VISIBLE_DEVICES"], visible)
            self.assertEqual(way.launch_app("batch", "b", ["app"])[1]["CUDA_VISIBLE_DEVICES"], seen)


class Mistakes(unittest.TestCase):
    def run_with(self, *arguments):
        return subprocess.run([*RUN, *arguments], capture_output=True, text=True, check=False)

    def test_unknown_names(self):
        done = self.run_with("--only", "pair.aa.bb", "--list")
        self.assertEqual((done.returncode, done.stderr), (2, "run: no cell is called "
                                                             "'pair.aa.bb'; --list shows them\n"))
        self.assertIn("there is no way 'mpx'", self.run_with("--ways", "mpx").stderr)


class Emulated(unittest.TestCase):
    """Processes, daemon, MPS and results; the times mean nothing."""

    def setUp(self):
        if not BIN:
            self.skipTest("no folder of the programs was given")
        self.folder = tempfile.TemporaryDirectory(prefix="cst-")
        self.addCleanup(self.folder.cleanup)

    def bench(self, *arguments):
        done = subprocess.run([*RUN, "--emulate", "--bin", BIN, "--out", self.folder.name,
                               "--repeats", "2", *arguments], capture_output=True, text=True,
                              check=False, timeout=200)
        with open(os.path.join(self.folder.name, "result.json")) as f:
            return done, json.load(f)

    def test_pairs_and_remapping(self):
        only = "pair.nn.bs,pair.va.bs,remap.bs,alone.va"
        done, result = self.bench("--only", only, "--ways", "mps,smguard,effisha")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([p["pair"] for p in result["pairs"]], ["nn+bs", "va+bs"])
        for pair in result["pairs"]:
            self.assertEqual(list(pair["ways"]), ["mps", "smguard", "effisha"])
            for way in ("smguard", "effisha"):
                self.assertGreater(pair["ways"][way]["evictions"]["tasks"], 0)
        self.assertTrue(result["remap"][0]["same"])
        self.assertIn("turnaround", result["alone"][0])
        again, result = self.bench("--only", only, "--ways", "mps,smguard,effisha")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertNotIn("expected", again.stdout.split("#")[0])
        self.assertEqual(len(result["pairs"]), 2)

    def test_a_program_that_does_not_answer_leaves_last_words(self):
        folder = self.folder.name
        app = apps.App("mute", ["sleep", "60"], dict(os.environ), folder)
        self.addCleanup(app.end)
        with self.assertRaises(apps.Failed):
            app.wait_until_ready(0.2)
        self.assertTrue(app.threads()[0].startswith("sleep S"))

    def test_whole_sms(self):
        done, result = self.bench("--only", "reserve.va.bs", "--repeats", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("gathered_over_sm", result["reserve"][0])

    def test_bursts(self):
        done, result = self.bench("--only", "burst.va.bs", "--ways", "fixed")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([p["reserve"] for p in result["burst"][0]["points"]],
                         list(plan.BURST_RESERVES))


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
        BIN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
