#!/bin/bash
# Software: Optuna 5.0.0 (PyPI).
# One would guess: a study in a database (load_if_exists=True) that is started again goes on with new trials. A seed in its sampler
#   makes that repeatable, no more.
# What happens: the database keeps the trials, but not the state of the sampler's random numbers. Each start draws from the seed
#   again, and while the sampler still draws at random (the first ten trials of TPE) a restarted study tries the very points that it
#   has tried.
# Why it matters: a search that is preempted now and then computes the same trials again and again, at full cost, and looks as if it
#   made progress: the number of trials grows. A count of trials is no count of work.
# Seen:
#   > first start: 4 trials, 4 different points
#   > second start: 8 trials, 4 different points
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'optuna==5.0.0'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >search.py <<'EOF'
import sys
import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(storage="sqlite:///study.db", study_name="search", load_if_exists=True,
                            sampler=optuna.samplers.TPESampler(seed=1))
study.optimize(lambda trial: trial.suggest_float("rate", 0, 1), n_trials=4)
points = [trial.params["rate"] for trial in study.trials]
print(f"{sys.argv[1]} start: {len(points)} trials, {len(set(points))} different points")
EOF
got=$(venv/bin/python search.py first && venv/bin/python search.py second) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
