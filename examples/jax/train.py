#!/usr/bin/env python3
"""A JAX training, as short as it gets: train.py [SECONDS]"""
import sys
import time

import jax
import jax.numpy as jnp

x = jax.random.normal(jax.random.PRNGKey(1), (2048, 2048))
step = jax.jit(lambda w: w - 1e-6 * jax.grad(lambda v: jnp.square(jnp.tanh(x @ v) - x).mean())(w))
w, n, begin = x, 0, time.monotonic()
while time.monotonic() - begin < float(sys.argv[1] if len(sys.argv) > 1 else 15):
    w, n = step(w).block_until_ready(), n + 1
print(f"steps {n} per_s {n / (time.monotonic() - begin):.2f} on {jax.devices()[0].platform}")
