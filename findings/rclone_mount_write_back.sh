#!/bin/bash
# Software: rclone 1.60.1 (Debian 12, rclone 1.60.1+dfsg-2+b5), `rclone mount --vfs-cache-mode writes`.
# One would guess: once fsync() and close() have succeeded on the mount, the file is at the other end; or at least after a rename.
# What happens: both succeed at once, and nothing is there: the file is sent five seconds after it was closed (`--vfs-write-
#   back`). The mount itself shows it all the while. A rename begins the five seconds anew.
# Why it matters: a checkpoint that was saved and fsynced within the last five seconds of a machine is in that machine's cache
#   alone, and a job that is killed with its mount has lost what it was told is safe.
# Seen:
#   > fsync and close: done
#   > on the mount: 100000 bytes
#   > at the other end: nothing
#   > after ten seconds: 100000 bytes
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

unset AWS_CA_BUNDLE
mkdir remote mount
usr/bin/rclone --config /dev/null --cache-dir cache mount remote mount --vfs-cache-mode writes >rclone.log 2>&1 &
rclone=$!
for ((i = 0; i < 100; i++)); do
	mountpoint -q mount && break
	sleep 0.1
done
if ! mountpoint -q mount; then
	tail -n 2 rclone.log
	exit 77
fi
python3 -c '
import os
with open("mount/step_100", "wb") as file:
    file.write(b"x" * 100000)
    file.flush()
    os.fsync(file.fileno())
' || true
size() { if [ -e "$1" ]; then echo "$(stat -c %s "$1") bytes"; else echo nothing; fi; }
got="fsync and close: done
on the mount: $(size mount/step_100)
at the other end: $(size remote/step_100)
after ten seconds: $(sleep 10 && size remote/step_100)" || true
umount -l mount
wait "$rclone" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
