#!/bin/bash
# Software: CatBoost 1.2.10 (PyPI), save_snapshot=True.
# One would guess: fit() goes on from the snapshot if it was made with the same parameters, and refuses it otherwise ("Current
#   training params differ"). The result has as many trees as `iterations` says, and get_all_params() says how they were made.
# What happens: another learning rate is no difference: nothing is trained, the old model comes back, and its parameters name the
#   new rate. `iterations=5` beside a snapshot of 10 gives 10 trees. Another l2_leaf_reg is refused.
# Why it matters: a search over learning rates with one snapshot file (a directory that a restart has put back) trains once and
#   reports each rate with the same result.
# Seen:
#   > rate 0.03: 10 trees
#   > rate 0.5: 10 trees, says 0.5, same predictions: True
#   > 5 iterations: 10 trees
#   > l2_leaf_reg: refused
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'catboost==1.2.10' 'numpy==2.4.6' 'scipy==1.17.1'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import catboost
import numpy as np

generator = np.random.default_rng(0)
x = generator.normal(size=(500, 4))

def fit(iterations, rate, **more):
    model = catboost.CatBoostRegressor(iterations=iterations, learning_rate=rate, depth=2, verbose=False, train_dir="run", save_snapshot=True,
                                       snapshot_file="snapshot", snapshot_interval=0, **more)
    return model.fit(x, x[:, 0])

first = fit(10, 0.03)
print(f"rate 0.03: {first.tree_count_} trees")
second = fit(10, 0.5)
same = np.array_equal(first.predict(x), second.predict(x))
print(f"rate 0.5: {second.tree_count_} trees, says {second.get_all_params()['learning_rate']}, same predictions: {same}")
print(f"5 iterations: {fit(5, 0.03).tree_count_} trees")
try:
    fit(10, 0.03, l2_leaf_reg=99)
except catboost.CatBoostError as error:
    print("l2_leaf_reg:", "refused" if "differ" in str(error) else error)
EOF
got=$(venv/bin/python job.py 2>errors.log) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
