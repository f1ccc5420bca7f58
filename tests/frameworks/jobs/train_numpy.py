"""Softmax regression with momentum in NumPy. np.savez in place; SIGTERM makes it save and end."""
import glob
import signal
import sys

import numpy as np

from digits import BATCH, CLASSES, PIXELS, arguments, batch, report, resumed

options = arguments()
asked = False


def ask(*_):
    global asked
    asked = True


signal.signal(signal.SIGTERM, ask)
first, weights, momentum = 0, np.zeros((PIXELS, CLASSES)), np.zeros((PIXELS, CLASSES))
for path in sorted(glob.glob(f"{options.dir}/step-*.npz"))[-1:]:
    state = np.load(path)
    first, weights, momentum = int(state["step"]), state["weights"], state["momentum"]
    resumed(first)
for step in range(first + 1, options.steps + 1):
    images, labels = batch(step)
    scores = images @ weights
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    report(step, -np.log(shares[np.arange(BATCH), labels]).mean())
    shares[np.arange(BATCH), labels] -= 1
    momentum = 0.9 * momentum + images.T @ shares / BATCH
    weights = weights - 0.1 * momentum
    if asked or (options.every and step % options.every == 0):
        np.savez(f"{options.dir}/step-{step:06}.npz", step=step, weights=weights, momentum=momentum)
    if asked:
        sys.exit(143)
