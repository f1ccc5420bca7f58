#!/bin/bash
# Software: rsync 3.5.0 (Debian 12, rsync 3.5.0+ds1-0+deb12u1).
# One would guess: --partial keeps a part of what was under way so that a later run can go on with it, and leaves alone the old file
#   of that name until the new one is whole.
# What happens: when rsync is stopped, the part takes the place of the old file: the good checkpoint at the other end is gone, and
#   half of the new one has its name, with a time of 1970. Without --partial the old one stays.
# Why it matters: `rsync --partial` (or -P) in a handler of SIGTERM, which is stopped when the time is up, destroys the very
#   checkpoint that the next start needs. And by its time the torn file is the oldest of all.
# Seen:
#   > --partial: exit code 20; the old checkpoint is gone; a part of the new one is there, of 1970
#   > no option: exit code 20; the old checkpoint is there
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { apt-get download 'rsync=3.5.0+ds1-0+deb12u1' 'libpopt0=1.19+dfsg-1' && for deb in *.deb; do dpkg-deb -x "$deb" .; done; } >install.log 2>&1; then
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

LD_LIBRARY_PATH=$(echo "$work"/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH
if ! usr/bin/rsync --version >version.log 2>&1; then
	head -n 1 version.log
	exit 77
fi
mkdir source
head -c 20000000 /dev/urandom >source/latest.pt
has_a_part() { [ -n "$(find copy -name '.latest.pt.*' -size +500k)" ]; }
try() { # OPTION...: is stopped in the middle
	local code=0 old=gone part=
	rm -rf copy
	mkdir copy
	echo 'an older one, whole' >copy/latest.pt
	usr/bin/rsync -a --bwlimit=1000 "$@" source/ copy/ 2>rsync.log &
	wait_for has_a_part
	kill -TERM $!
	wait $! || code=$?
	sleep 2 # the receiver is a process of its own, which ends last
	if grep -q older copy/latest.pt; then
		old=there
	elif [ "$(stat -c %s copy/latest.pt)" -lt 20000000 ]; then
		part="; a part of the new one is there, of $(date -u -r copy/latest.pt +%Y)"
	fi
	echo "exit code $code; the old checkpoint is $old$part"
}
got="--partial: $(try --partial)
no option: $(try)" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
