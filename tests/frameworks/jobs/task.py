"""A submitit function with a checkpoint() method, which submitit calls when the job is preempted."""
import glob
import os
import signal

import numpy as np
import submitit

from digits import BATCH, CLASSES, PIXELS, batch, report, resumed, slow_down


class Training:
    def __init__(self, options):
        self.options, self.step = options, 0
        self.weights = np.zeros((PIXELS, CLASSES))

    def __call__(self):
        options = self.options
        slow_down(options)  # it is another process
        for path in sorted(glob.glob(f"{options.dir}/step-*.npz"))[-1:]:
            state = np.load(path)
            self.step, self.weights = int(state["step"]), state["weights"]
            resumed(self.step)
        while self.step < options.steps:
            images, labels = batch(self.step + 1)
            scores = images @ self.weights
            scores -= scores.max(axis=1, keepdims=True)
            shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            loss = -np.log(shares[np.arange(BATCH), labels]).mean()
            shares[np.arange(BATCH), labels] -= 1
            changed = self.weights - 0.5 * images.T @ shares / BATCH
            # The handler may come at any time: both or neither.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
            self.step, self.weights = self.step + 1, changed
            report(self.step, loss)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])

    def checkpoint(self):
        path = f"{self.options.dir}/step-{self.step:06}.npz"
        np.savez(path + ".part.npz", step=self.step, weights=self.weights)
        os.replace(path + ".part.npz", path)
        return submitit.helpers.DelayedSubmission(Training(self.options))
