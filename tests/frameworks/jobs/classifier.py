"""The model and the data of the Keras scripts."""
import keras
import tensorflow as tf

from digits import CLASSES, PIXELS, batch, report, resumed

EPOCH = 10  # steps


def model():
    keras.utils.set_random_seed(7)
    made = keras.Sequential([keras.layers.Input([PIXELS]), keras.layers.Dense(32, "relu"), keras.layers.Dense(CLASSES)])
    made.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return made


class Batches(keras.utils.PyDataset):
    """Batch `index` of an epoch is the same in each epoch."""

    def __init__(self, steps=EPOCH):
        super().__init__()
        self.steps = steps

    def __len__(self):
        return self.steps

    def __getitem__(self, index):
        return tuple(map(tf.convert_to_tensor, batch(index + 1)))


class Report(keras.callbacks.Callback):
    def __init__(self, steps=EPOCH):
        super().__init__()
        self.steps = steps

    def on_train_begin(self, logs=None):
        self.said = False

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch
        if not self.said and epoch:
            resumed(epoch * self.steps)
        self.said = True

    def on_train_batch_end(self, index, logs):
        # Keras shows the mean since the epoch's start, which is as good a curve.
        report(self.epoch * self.steps + index + 1, logs["loss"])
