"""The module and the data of the Lightning scripts. The data know where they are, as torchdata's StatefulDataLoader does: without that
Lightning begins the epoch's data again when it resumes in the middle of it."""
import lightning.pytorch as pl
import torch

import digits
from digits import report, resumed
from network import network


class Batches:
    def __init__(self, steps):
        self.steps, self.given = steps, 0

    def __len__(self):
        return self.steps

    def __iter__(self):
        while self.given < self.steps:
            self.given += 1
            yield [torch.from_numpy(array) for array in digits.batch(self.given)]
        self.given = 0

    def state_dict(self):
        return {"given": self.given}

    def load_state_dict(self, state):
        self.given = state["given"]


class Digits(pl.LightningModule):
    """by_step: the step itself says which data it takes, whatever the loader has given."""

    def __init__(self, by_step=False):
        super().__init__()
        self.network, self.by_step = network(), by_step

    def on_train_start(self):
        if self.global_step:
            resumed(self.global_step)

    def training_step(self, batch):
        images, labels = map(torch.from_numpy, digits.batch(self.global_step + 1)) if self.by_step else batch
        loss = torch.nn.functional.cross_entropy(self.network(images), labels)
        report(self.global_step + 1, loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)
