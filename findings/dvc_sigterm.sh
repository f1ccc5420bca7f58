#!/bin/bash
# Software: DVC 3.67.1 (PyPI dvc).
# One would guess: SIGTERM to `dvc repro` ends the command of the stage as well, or waits for it. While it runs, another `dvc
#   repro` of that stage is refused: there is a lock.
# What happens: dvc dies of the signal at once, and its command goes on without it. The lock names a process that is gone, so that
#   the next `dvc repro` starts the command a second time beside the first.
# Why it matters: a scheduler that signals the process which it has started sees it end, while the training neither hears anything
#   nor stops; after a requeue on the same node two trainings write into one checkpoint directory.
# Seen:
#   > dvc ends with 143
#   > the command goes on: True
#   > the next dvc starts it again: True
#   > both run: True
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'dvc==3.67.1'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi
wait_for() { # COMMAND...: until it succeeds, for at most a minute
	for ((i = 0; i < 600; i++)); do
		if "$@"; then return; fi
		sleep 0.1
	done
	echo "CHANGED: waited in vain for $*"
	exit 1
}

export DVC_NO_ANALYTICS=1 HOME=$work
mkdir project
cd project
cat >train.sh <<'EOF'
echo $$ >>../started
while [ ! -e ../over ]; do sleep 0.1; done
EOF
printf 'stages:\n  train:\n    cmd: bash train.sh\n    always_changed: true\n' >dvc.yaml
../venv/bin/dvc init -q --no-scm
started() { [ "$(wc -l 2>/dev/null <../started)" = "$1" ]; }
lives() { if kill -0 "$(sed -n "$1p" ../started)"; then echo True; else echo False; fi; }
touch ../started
../venv/bin/dvc repro >../first.log 2>&1 &
wait_for started 1
kill -TERM $!
code=0
wait $! 2>/dev/null || code=$?
alone=$(lives 1)
../venv/bin/dvc repro >../second.log 2>&1 &
wait_for started 2
both=False
if [ "$(lives 1)$(lives 2)" = TrueTrue ]; then both=True; fi
touch ../over
wait $! || true
got="dvc ends with $code
the command goes on: $alone
the next dvc starts it again: True
both run: $both" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
