#!/bin/bash
# Software: DVC 3.67.1 (PyPI dvc).
# One would guess: a stage that was killed is run again by the next `dvc repro`, and finds the files that it had written, its
#   checkpoints among them.
# What happens: dvc removes all outputs of a stage before it runs its command, also those of an attempt that did not end. With the
#   checkpoint directory among `outs` each attempt begins at nothing. (`persist: true` for that output keeps it.)
# Why it matters: a training in a pipeline never gets further than one attempt reaches, without any error. What the restart deletes
#   may be the newest whole checkpoint, so it must be safe elsewhere, and put back by the command itself, not before it.
# Seen:
#   > the killed attempt had saved a step
#   > first attempt: begins at 0
#   > second attempt: begins at 0
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
mkdir -p checkpoints
step=$(cat checkpoints/step 2>/dev/null || echo 0)
echo "begins at $step" >>../starts
for ((i = 0; i < 10; i++)); do
	echo $((++step)) >checkpoints/step
	sleep 0.2
done
EOF
cat >dvc.yaml <<'EOF'
stages:
  train:
    cmd: bash train.sh
    outs: [checkpoints]
EOF
../venv/bin/dvc init -q --no-scm
setsid ../venv/bin/dvc repro >../first.log 2>&1 &
wait_for test -s checkpoints/step
kill -KILL -- -$!
wait $! 2>/dev/null || true
saved=no
if [ "$(cat checkpoints/step)" -gt 0 ]; then saved=a; fi
../venv/bin/dvc repro >../second.log 2>&1
got="the killed attempt had saved $saved step
first attempt: $(sed -n 1p ../starts)
second attempt: $(sed -n 2p ../starts)" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
