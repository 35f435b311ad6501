#!/usr/bin/env python3
"""A service: answers requests that come at random moments, and says how long they took.

    serve.py [--rate 100] [--seconds 15] [--device cpu --small]

The model is a convolutional network with random weights. On a GPU it is one CUDA graph, as servers
that must be quick have it. A request begins when it arrives, not when its turn comes.
"""
import argparse
import os
import random
import sys
import time

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "..", "python"),                              # of the source
             os.path.join(HERE, "..", "..", "..", "..", "cotenant", "python")]        # of the package
import cotenant  # noqa: E402  marks the requests for `cotenant run`; does nothing elsewhere


def network(width, depth):
    layers = [nn.Conv2d(3, width, 7, 4), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def as_graph(model, image):
    """What answers one request: the recipe for graphs of PyTorch's documentation."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(image)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(image)

    def answer():
        graph.replay()
        torch.cuda.synchronize()
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rate", type=float, default=100, help="requests a second")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="a network to try it on a CPU")
    args = parser.parse_args()

    torch.manual_seed(1)
    with torch.no_grad():
        model = network(*(8, 2) if args.small else (128, 24)).to(args.device).eval()
        image = torch.randn(1, 3, 224, 224, device=args.device)
        answer = as_graph(model, image) if args.device == "cuda" else lambda: model(image)
        for _ in range(20):
            answer()
        print("serving", flush=True)

        chance, times = random.Random(1), []
        arrival = time.monotonic()
        end = arrival + args.seconds
        while True:
            arrival += chance.expovariate(args.rate)
            if arrival >= end:
                break
            time.sleep(max(0.0, arrival - time.monotonic()))
            with cotenant.request(arrival_ns=int(arrival * 1e9)):
                answer()
            times.append(time.monotonic() - arrival)

    times.sort()
    print(f"requests {len(times)} p50_ms {1e3 * times[len(times) // 2]:.2f} "
          f"p99_ms {1e3 * times[int(0.99 * len(times))]:.2f}")


main()
