"""Softmax regression, kept in HDF5 files; SIGTERM makes it save and end."""
import glob
import signal
import sys

import h5py
import numpy as np

from digits import BATCH, CLASSES, PIXELS, arguments, batch, report, resumed

options = arguments()
asked = False


def ask(*_):
    global asked
    asked = True


signal.signal(signal.SIGTERM, ask)
first, weights = 0, np.zeros((PIXELS, CLASSES))
for path in sorted(glob.glob(f"{options.dir}/step-*.h5"))[-1:]:
    with h5py.File(path, "r") as file:
        first, weights = int(file.attrs["step"]), file["weights"][:]
    resumed(first)
for step in range(first + 1, options.steps + 1):
    images, labels = batch(step)
    scores = images @ weights
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    report(step, -np.log(shares[np.arange(BATCH), labels]).mean())
    shares[np.arange(BATCH), labels] -= 1
    weights = weights - 0.5 * images.T @ shares / BATCH
    if asked or (options.every and step % options.every == 0):
        with h5py.File(f"{options.dir}/step-{step:06}.h5", "w") as file:
            file["weights"] = weights
            file.attrs["step"] = step
    if asked:
        sys.exit(143)
