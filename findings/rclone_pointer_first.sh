#!/bin/bash
# Software: rclone 1.60.1 (Debian 12, rclone 1.60.1+dfsg-2+b5), from one directory to another.
# One would guess: a copy that is broken off leaves at the other end what was there before, and whole new files; rclone works through
#   the directory in such an order that what names a file does not come before it.
# What happens: files are copied side by side, and the short one is through at once: the pointer is new there while the checkpoint
#   that it names is still under way. That one has its final name from the first byte on; after a kill half of it stays under it.
# Why it matters: a directory that rclone brings to another disk or back from it has, after a preemption in the middle, a pointer to a
#   torn checkpoint. Neither the name nor the pointer shows that; the size against the source does.
# Seen:
#   > the pointer names step_200
#   > step_200 is there under its name: True
#   > it is whole: False
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { apt-get download 'rclone=1.60.1+dfsg-2+b5' && for deb in *.deb; do dpkg-deb -x "$deb" .; done; } >install.log 2>&1; then
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

mkdir source copy
head -c 20000000 /dev/zero >source/step_200
echo step_200 >source/latest
echo step_100 >copy/latest
echo whole >copy/step_100
touch -d '1 hour ago' copy/*
usr/bin/rclone --config /dev/null --bwlimit 1M copy source copy 2>rclone.log &
wait_for test -s copy/step_200
wait_for grep -q step_200 copy/latest
kill -KILL $!
wait $! 2>/dev/null || true
yes_or_no() { if "$@"; then echo True; else echo False; fi; }
got="the pointer names $(cat copy/latest)
step_200 is there under its name: $(yes_or_no test -e copy/step_200)
it is whole: $(yes_or_no cmp -s source/step_200 copy/step_200)" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
