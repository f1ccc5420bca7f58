"""Keras with reprieve.KerasCallback. Keras goes on with an epoch, not with a batch of it: so that no step is done twice, an epoch is one
step here."""
import keras

import reprieve
from classifier import Batches, Report, model
from digits import arguments

options = arguments()
newest = reprieve.newest("*.keras", options.dir)
trained = keras.models.load_model(newest) if newest else model()
trained.fit(Batches(steps=1), initial_epoch=int(trained.optimizer.iterations), epochs=options.steps, verbose=0, shuffle=False,
            callbacks=[Report(steps=1), reprieve.KerasCallback()])
