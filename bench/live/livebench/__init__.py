"""The live benchmark's parts; bench/live/run.py is the program, docs/bench-live.md the manual."""
