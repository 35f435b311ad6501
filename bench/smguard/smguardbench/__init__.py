"""What bench/smguard/run.py is made of."""
