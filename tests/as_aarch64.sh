#!/bin/bash
# Runs a command whose programs for aarch64 run under qemu-user, with nothing changed on this machine: the kernel is told of qemu in
# namespaces that end with the command.
#	as_aarch64.sh COMMAND...
# As root; needs qemu-user-static. From Linux 6.7 on such a namespace has its own list of interpreters (binfmt_misc); before, the
# machine has to know of qemu by itself (package binfmt-support).
set -euo pipefail
qemu=$(command -v qemu-aarch64-static) || {
	echo "as_aarch64: qemu-user-static is not installed" >&2
	exit 1
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-as-aarch64.XXXXXX")
inside=
trap 'if [ -n "$inside" ]; then kill -KILL "$inside" 2>/dev/null; fi; rm -rf "$scratch"' EXIT
mkfifo "$scratch/mapped"

# shellcheck disable=SC2016 # expanded by the bashes that unshare starts
readonly register='
	mount -t proc proc /proc
	if mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null; then
		printf "%s" ":reprieve-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$0:F" \
			>/proc/sys/fs/binfmt_misc/register
	fi
	exec "$@"'
# Packages have files of many users, so that all of them are there in the namespace. Only its parent may say so.
# shellcheck disable=SC2016
unshare --user bash -euc 'read -r _ <"$1"; shift; exec unshare --mount --pid --fork --kill-child "$@"' \
	as_aarch64 "$scratch/mapped" bash -euc "$register" "$qemu" "$@" &
inside=$!
until [ "$(readlink "/proc/$inside/ns/user")" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.05; done
echo "0 0 65536" >"/proc/$inside/uid_map"
echo "0 0 65536" >"/proc/$inside/gid_map"
echo >"$scratch/mapped"
code=0
wait "$inside" || code=$?
inside=
exit "$code"
