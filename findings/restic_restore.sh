#!/bin/bash
# Software: restic 0.14.0 (Debian 12, restic 0.14.0-1+b5).
# One would guess: a restore that is broken off leaves a file that is too short, or none under its final name.
# What happens: restic gives each file its final name and its full size first, and then fills it. After a SIGTERM in the middle the
#   file is as long as it should be, and holds zeros where nothing came.
# Why it matters: a check by the size takes it for whole, and so does a loader of plain arrays. It also has the time of the restore
#   and so is newer than all saves. A directory that a preempted restore leaves must not be started from.
# Seen:
#   > exit code 143
#   > size as in the backup: True
#   > content as in the backup: False
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { apt-get download 'restic=0.14.0-1+b5' && for deb in *.deb; do dpkg-deb -x "$deb" .; done; } >install.log 2>&1; then
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

export RESTIC_PASSWORD=secret RESTIC_REPOSITORY=$work/repository RESTIC_CACHE_DIR=$work/cache
mkdir saved
head -c 20000000 /dev/urandom >saved/step_200
usr/bin/restic -q init
usr/bin/restic -q backup saved
usr/bin/restic restore latest --target back --limit-download 1000 >restic.log 2>&1 &
wait_for test -e "back/$work/saved/step_200" -o -e back/saved/step_200
sleep 1
kill -TERM $!
code=0
wait $! || code=$?
file=$(find back -name step_200)
yes_or_no() { if "$@"; then echo True; else echo False; fi; }
got="exit code $code
size as in the backup: $(yes_or_no test "$(stat -c %s "$file")" -eq 20000000)
content as in the backup: $(yes_or_no cmp -s saved/step_200 "$file")" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
