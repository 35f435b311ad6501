#!/usr/bin/env python3
"""A training: works until it is told to end (SIGTERM), and says how many steps a second it did.

    train.py [--device cpu --small]

SIGUSR1 begins the count anew, so that what is counted is what it did beside others.
"""
import argparse
import signal
import time

import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="a network to try it on a CPU")
    args = parser.parse_args()

    width, batch = (32, 8) if args.small else (4096, 2048)
    torch.manual_seed(2)
    model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(width, width), nn.GELU())])
    model.to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(batch, width, device=args.device)

    counted = {"from": time.monotonic(), "steps": 0, "ending": False}
    signal.signal(signal.SIGUSR1, lambda *_: counted.update({"from": time.monotonic(), "steps": 0}))
    signal.signal(signal.SIGTERM, lambda *_: counted.update(ending=True))
    step = 0
    while not counted["ending"]:
        loss = (model(data) - data).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        loss.item()  # as trainings do that show their loss; so few steps are in the queue
        step += 1
        counted["steps"] += 1
        if step == 5:
            print("training", flush=True)
    seconds = time.monotonic() - counted["from"]
    print(f"steps {counted['steps']} per_s {counted['steps'] / seconds:.2f}")


main()
