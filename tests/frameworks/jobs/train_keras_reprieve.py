"""Keras with reprieve.KerasCallback."""
import keras

import reprieve
from classifier import EPOCH, Batches, Report, model
from digits import arguments

options = arguments()
newest = reprieve.newest("*.keras", options.dir)
trained = keras.models.load_model(newest) if newest else model()
# Keras goes on with an epoch, not with a batch of it.
done = int(trained.optimizer.iterations) // EPOCH
trained.fit(Batches(), initial_epoch=done, epochs=options.steps // EPOCH, verbose=0, shuffle=False,
            callbacks=[reprieve.KerasCallback(), Report()])
