#!/bin/bash
# Software: snakemake 9.27.1 (PyPI).
# One would guess: SIGTERM to snakemake ends the rule that runs, or is passed on to it; what a rule has finished counts; and the next
#   start in that directory goes on, whatever ended the one before.
# What happens: the rule hears nothing. snakemake waits until it has ended by itself, however long that takes, and exits with 1, "At
#   least one job did not complete successfully", although the rule ended with 0 and its output is there. If snakemake is killed while
#   it waits, its lock stays, and each further start exits with 1 (LockException) until somebody says --unlock.
# Why it matters: a supervisor or scheduler that tells the leader alone waits for its whole grace and then kills it, and from then on
#   no start runs. The rule's own processes have to hear SIGTERM too, while there is time.
# Seen:
#   > 3 s after SIGTERM snakemake waits: yes
#   > it exits with 1
#   > the rule ran to its end: yes
#   > its success is called a failure: yes
#   > after a SIGKILL the next start exits with 1
#   > because of the lock: yes
#   > it has made the result: no
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'snakemake==9.27.1'; } >install.log 2>&1; then
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

# The rule says when it has begun, so that nothing hangs on how fast snakemake starts.
cat >Snakefile <<'EOF'
rule all:
    output: "result"
    shell: "touch begun; sleep 8; echo done > {output}"
EOF
start() { # LOG
	rm -rf begun result
	setsid venv/bin/snakemake --cores 1 >"$1" 2>&1 &
	pid=$!
	wait_for test -e begun
}
say() { if "${@:2}" 2>/dev/null; then echo "$1: yes"; else echo "$1: no"; fi; }
try() {
	local code=0
	start told.log
	kill -TERM "$pid"
	sleep 3
	say '3 s after SIGTERM snakemake waits' kill -0 "$pid"
	wait "$pid" || code=$?
	echo "it exits with $code"
	say 'the rule ran to its end' test -s result
	say 'its success is called a failure' grep -q 'At least one job did not complete successfully' told.log

	start killed.log
	kill -TERM "$pid"
	sleep 1
	kill -KILL "$pid"
	wait "$pid" || true
	wait_for test -s result
	rm -f result
	code=0
	venv/bin/snakemake --cores 1 >next.log 2>&1 || code=$?
	echo "after a SIGKILL the next start exits with $code"
	say 'because of the lock' grep -q LockException next.log
	say 'it has made the result' test -e result
}
got=$(try 2>/dev/null) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
