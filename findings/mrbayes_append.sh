#!/bin/bash
# Software: MrBayes 3.2.7a (Debian 12, mrbayes 3.2.7a-6).
# One would guess: mcmc append=yes goes on from the checkpoint that a run has written beside its results, begins anew where there is none,
#   and has nothing to do where the run has finished. So one and the same file of commands can be started again and again.
# What happens: without a FILE.ckp it is an error ("Could not find the checkpoint file"), exit code 1, also where FILE.ckp~, the one
#   before, is there (at each save there is a moment with FILE.ckp~ alone). With one of a run that has finished it is an error too
#   ("already finished"), exit code 1.
# Why it matters: a job that is started again by its scheduler needs two files of commands and a look at what is there; and the start
#   after the one that has finished fails for as long as somebody starts it. Exit code 1 does not say that a checkpoint is bad.
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -u

bash "$(dirname "$0")/../examples/install_packages.sh" mrbayes || exit 77
data=/usr/share/doc/mrbayes/examples/primates.nex
[ -e "$data" ] || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 77

changed=0
check() { # WHAT COMMAND...
	if "${@:2}"; then echo "as described: $1"; else echo "CHANGED: $1" && changed=1; fi
}
start() { # APPEND: leaves its exit code in $code, and what it said in said.log
	cat >run.nex <<EOF
begin mrbayes;
 set autoclose=yes nowarn=yes;
 execute $data;
 mcmc filename=run ngen=${2:-2000} samplefreq=100 diagnfreq=1000 nchains=1 checkfreq=1000 append=$1;
end;
EOF
	mb run.nex >said.log 2>&1 </dev/null
	code=$?
}

start yes
check "append=yes where nothing is there ends with 1" test "$code" -eq 1
check "because there is no checkpoint" grep -q "Could not find the checkpoint file" said.log

start no
check "append=no runs to its end" test "$code" -eq 0
start yes
check "append=yes on what has finished ends with 1" test "$code" -eq 1
check "because it has finished" grep -q "already finished" said.log
start yes 4000
check "append=yes with more generations goes on" test "$code" -eq 0

rm run.ckp
start yes 6000
check "append=yes with run.ckp~ alone ends with 1" test "$code" -eq 1
check "the checkpoint before is there" test -s run.ckp~
exit "$changed"
