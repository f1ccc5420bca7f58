"""An ensemble sampler with its HDF5 backend, which is written after each step."""
import sys
import time

import emcee
import numpy as np

backend = emcee.backends.HDFBackend(f"{sys.argv[1]}/chain.h5")
begun = backend.initialized and backend.iteration > 0
if not begun:
    backend.reset(16, 4)
print("resumed", backend.iteration, flush=True)


def log_probability(place):
    time.sleep(0.08)  # a step takes more than a second, as those of models do that need a sampler
    return -0.5 * np.sum(place ** 2)


sampler = emcee.EnsembleSampler(16, 4, log_probability, backend=backend)
state = None if begun else np.random.default_rng(0).normal(size=(16, 4))
for _ in sampler.sample(state if state is not None else sampler.get_last_sample(), iterations=100000):
    print("step", backend.iteration, flush=True)
