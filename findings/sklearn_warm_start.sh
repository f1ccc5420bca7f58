#!/bin/bash
# Software: scikit-learn 1.9.1 (PyPI), MLPRegressor and MLPClassifier.
# One would guess: a network with warm_start=True that is fitted for 20 epochs, pickled, loaded and fitted for 20 more is the one
#   that 40 epochs in a row give: the pickle has the optimizer, and epochs and steps are counted on.
# What happens: fit() makes a new optimizer each time: Adam's moments begin at zero, in a network that is trained already. The
#   counters that are shown (t_, loss_curve_) go on as if nothing had been. partial_fit() keeps the optimizer.
# Why it matters: a training that is preempted every hour becomes another one than one that is not, and nothing shows it; the
#   state that the checkpoint holds is complete, and is thrown away.
# Seen:
#   > samples seen: 12000 and 12000
#   > epochs in the loss curve: 40 and 40
#   > the same network, by fit: False
#   > the same network, by partial_fit: True
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'scikit-learn==1.9.1' 'numpy==2.4.6' 'scipy==1.17.1'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import pickle
import warnings

import numpy as np
from sklearn.neural_network import MLPRegressor

warnings.simplefilter("ignore")
generator = np.random.default_rng(0)
x = generator.normal(size=(300, 3))
y = x[:, 0] ** 2

def network(epochs, **more):
    return MLPRegressor(hidden_layer_sizes=(8,), max_iter=epochs, random_state=0, shuffle=False, tol=0, n_iter_no_change=10**6, **more)

def restarted(model):
    return pickle.loads(pickle.dumps(model))

whole = network(40).fit(x, y)
halves = restarted(network(20, warm_start=True).fit(x, y)).fit(x, y)
parts = network(1).partial_fit(x, y)
for _ in range(39):
    parts = restarted(parts).partial_fit(x, y)
print(f"samples seen: {whole.t_} and {halves.t_}")
print(f"epochs in the loss curve: {len(whole.loss_curve_)} and {len(halves.loss_curve_)}")
print("the same network, by fit:", np.allclose(whole.coefs_[0], halves.coefs_[0]))
print("the same network, by partial_fit:", np.allclose(whole.coefs_[0], parts.coefs_[0]))
EOF
got=$(venv/bin/python job.py 2>errors.log) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
