"""Stands for a training or a service in Python: what ./serve does."""
import os
import sys

os.execv(os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve"), ["serve", *sys.argv[1:]])
