"""Keras with BackupAndRestore, which saves after each epoch; no handler."""
import keras

from classifier import EPOCH, Batches, Report, model
from digits import arguments

options = arguments()
model().fit(Batches(), epochs=options.steps // EPOCH, verbose=0, shuffle=False,
            callbacks=[keras.callbacks.BackupAndRestore(backup_dir=options.dir), Report()])
