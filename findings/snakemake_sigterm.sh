#!/bin/bash
# Software: snakemake 9.27.1 (PyPI).
# One would guess: SIGTERM to snakemake ends the rule that runs, or is passed on to it; what a rule has finished counts; and
#   the next start in that directory goes on, whatever ended the one before.
# What happens: the rule hears nothing. snakemake waits until it has ended by itself, however long that takes, and exits with 1,
#   "At least one job did not complete successfully", although the rule ended with 0 and its output is there. If snakemake is
#   killed while it waits, its lock stays, and each further start exits with 1 (LockException) until somebody says --unlock.
# Why it matters: a supervisor or scheduler that tells the leader alone waits for its whole grace and then kills it, and from then
#   on no start runs. The rule's own processes have to hear SIGTERM too, while there is time.
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -u

work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 77
if ! { python3 -m venv venv && venv/bin/pip install -q 'snakemake==9.27.1'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi
# The rule says when it has begun, so that nothing hangs on how fast snakemake starts.
cat >Snakefile <<'EOF'
rule all:
    output: "result"
    shell: "touch begun; sleep 8; echo done > {output}"
EOF

changed=0
check() { # WHAT COMMAND...
	if "${@:2}"; then echo "as described: $1"; else echo "CHANGED: $1" && changed=1; fi
}
start() {
	rm -rf begun result
	setsid venv/bin/snakemake --cores 1 >"$1" 2>&1 &
	pid=$!
	for ((i = 0; i < 600; i++)); do
		if [ -e begun ]; then return; fi
		sleep 0.1
	done
	cat "$1"
	exit 77
}

start told.log
kill -TERM "$pid"
sleep 3
check "3 s after SIGTERM snakemake still waits" kill -0 "$pid"
wait "$pid"
code=$?
check "it exits with 1, and not by the signal" test "$code" -eq 1
check "the rule ran to its end" test -s result
check "its success is called a failure" grep -q "At least one job did not complete successfully" told.log

start killed.log
kill -TERM "$pid"
sleep 1
kill -KILL "$pid"
wait "$pid" 2>/dev/null
for ((i = 0; i < 100 && $(stat -c %s result 2>/dev/null || echo 0) == 0; i++)); do sleep 0.1; done
rm -f result
venv/bin/snakemake --cores 1 >next.log 2>&1
code=$?
check "after a SIGKILL the next start exits with 1" test "$code" -eq 1
check "because of the lock" grep -q LockException next.log
check "and has made nothing" test ! -e result
venv/bin/snakemake --version
exit "$changed"
