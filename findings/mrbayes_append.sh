#!/bin/bash
# Software: MrBayes 3.2.7a (Debian 12, mrbayes 3.2.7a-6).
# One would guess: mcmc append=yes goes on from the checkpoint that a run has written beside its results, begins anew where there is
#   none, and has nothing to do where the run has finished. So one and the same file of commands can be started again and again.
# What happens: without a FILE.ckp it is an error, exit code 1, also where FILE.ckp~, the one before, is there (at each save there is
#   a moment with FILE.ckp~ alone). With one of a run that has finished it is an error too, exit code 1.
# Why it matters: a job that is started again by its scheduler needs two files of commands and a look at what is there; and the start
#   after the one that has finished fails for as long as somebody starts it. Exit code 1 does not say that a checkpoint is bad.
# Seen:
#   > append=yes where nothing is there: exit code 1, Could not find the checkpoint file
#   > append=no: exit code 0
#   > append=yes on what has finished: exit code 1, already finished
#   > append=yes with more generations: exit code 0
#   > append=yes with run.ckp~ alone: exit code 1, Could not find the checkpoint file
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { apt-get download 'mrbayes=3.2.7a-6' 'libhmsbeagle1v5=3.1.2+dfsg-13' && for deb in *.deb; do dpkg-deb -x "$deb" .; done; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

LD_LIBRARY_PATH=$(echo "$work"/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH
start() { # APPEND GENERATIONS WHEN
	local code=0
	cat >run.nex <<EOF
begin mrbayes;
 set autoclose=yes nowarn=yes;
 execute usr/share/doc/mrbayes/examples/primates.nex;
 mcmc filename=run ngen=$2 samplefreq=100 diagnfreq=1000 nchains=1 checkfreq=1000 append=$1;
end;
EOF
	usr/bin/mb run.nex >said.log 2>&1 </dev/null || code=$?
	echo "append=$1$3: exit code $code$(grep -oE -m 1 'Could not find the checkpoint file|already finished' said.log | sed 's/^/, /')"
}
got=$(
	start yes 2000 ' where nothing is there'
	start no 2000 ''
	start yes 2000 ' on what has finished'
	start yes 4000 ' with more generations'
	rm run.ckp
	start yes 6000 ' with run.ckp~ alone'
) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
