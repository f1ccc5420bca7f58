"""What the scripts share whose subject is a tracker and not the model: softmax regression, saved as an .npz that is renamed into place."""
import glob
import os

import numpy as np

from digits import BATCH, CLASSES, PIXELS, batch, report, resumed


class Softmax:
    def __init__(self):
        self.step, self.weights = 0, np.zeros((PIXELS, CLASSES))

    def train(self):
        """One step; its loss."""
        images, labels = batch(self.step + 1)
        scores = images @ self.weights
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        loss = float(-np.log(shares[np.arange(BATCH), labels]).mean())
        shares[np.arange(BATCH), labels] -= 1
        self.weights = self.weights - 0.5 * images.T @ shares / BATCH
        self.step += 1
        report(self.step, loss)
        return loss

    def save(self, directory):
        path = f"{directory}/model-{self.step:06}.npz"
        np.savez(path + ".part.npz", step=self.step, weights=self.weights)
        os.replace(path + ".part.npz", path)

    def resume(self, pattern):
        """From the newest file that matches."""
        paths = [path for path in glob.glob(pattern) if not path.endswith(".part.npz")]
        for path in sorted(paths, key=os.path.basename)[-1:]:
            state = np.load(path)
            self.step, self.weights = int(state["step"]), state["weights"]
            resumed(self.step)
