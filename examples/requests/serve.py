"""A server whose requests are measured: COUNT of them, of 2 ms each, that waited for 1 ms before.

    cotenant run --measure -- env PYTHONPATH=python python3 examples/requests/serve.py 100
    cotenant stats                                          while it runs, on another terminal
"""

import sys
import time

import cotenant

for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 100):
    arrival_ns = time.monotonic_ns()
    time.sleep(0.001)  # in the server's own queue
    with cotenant.request(arrival_ns):
        time.sleep(0.002)  # the model; end inside only when the GPU has answered
time.sleep(60)  # so that there is time to look
