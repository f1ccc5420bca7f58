#!/bin/bash
# Software: Keras 3.15.1 (PyPI) on jax 0.10.2.
# One would guess: ModelCheckpoint('best.keras', save_best_only=True) writes over best.keras only with what is better than that.
# What happens: the best value is in memory alone. After a restart the first epoch is the best one there ever was, and is written over
#   best.keras whatever it is worth. (initial_value_threshold= can tell it, if the script has kept the value elsewhere.)
# Why it matters: a preemption in a late phase of a training costs its best model, hours after it was saved whole and durable. Newer
#   does not mean better here; the best has to be kept somewhere that the job does not write to.
# Seen:
#   > second start: the epoch is worse than best.keras: True
#   > best.keras is now the worse one: True
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'keras==3.15.1' 'jax==0.10.2' 'numpy==2.4.6'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >train.py <<'EOF'
import keras, numpy

keras.utils.set_random_seed(1)
x = numpy.random.default_rng(0).normal(size=(64, 4))
y = x.sum(1, keepdims=True)

def fit(model, epochs):
    best = keras.callbacks.ModelCheckpoint("best.keras", monitor="val_loss", save_best_only=True)
    return model.fit(x, y, validation_data=(x, y), epochs=epochs, verbose=0, callbacks=[best]).history["val_loss"]

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
reached = min(fit(model, 30))
# A restart whose learning rate warms up from too high a value, as after any change of a schedule.
model = keras.models.load_model("best.keras")
model.optimizer.learning_rate = 3.0
epoch = fit(model, 1)[0]
print("second start: the epoch is worse than best.keras:", epoch > reached)
kept = keras.models.load_model("best.keras").evaluate(x, y, verbose=0)
print("best.keras is now the worse one:", bool(abs(kept - epoch) < 0.01 * epoch))
EOF
got=$(KERAS_BACKEND=jax KERAS_HOME=$work venv/bin/python train.py 2>errors.log) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
