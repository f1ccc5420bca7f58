#!/bin/bash
# Looks at the program and the shim of a build without sanitizers: each protection that CMakeLists.txt asks for must be in the binaries.
#   check_hardening.sh [BUILD]     default: build
# Not in the shim: _FORTIFY_SOURCE, whose functions a musl program lacks; on aarch64 the stack protector, whose guard is in ld-linux.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build}
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

bad() {
	echo "$file: $1" >&2
	failed=1
}

# ENTRY is a function that can be called through a pointer.
look_at() {
	local -r file=$1 entry=$2
	[ -f "$file" ] || {
		echo "$file is not there: build it first" >&2
		exit 1
	}
	readelf -hldWn "$file" >"$scratch/told" 2>/dev/null
	nm -D --undefined-only "$file" | awk '{ sub(/@.*/, "", $2); print $2 }' >"$scratch/imports"
	objdump -d --no-show-raw-insn "$file" >"$scratch/code"

	# A program that is no PIE has the type EXEC.
	grep -qE '^ *Type: +DYN' "$scratch/told" || bad "is not position independent (PIE)"
	grep -q 'GNU_RELRO' "$scratch/told" || bad "has no RELRO segment"
	grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).* NOW|\(BIND_NOW\)' "$scratch/told" || bad "binds lazily (-z now), so RELRO is partial"
	if awk '/GNU_STACK/ && $7 ~ /E/ { found = 1 } END { exit !found }' "$scratch/told"; then bad "wants an executable stack"; fi
	if grep -q TEXTREL "$scratch/told"; then bad "has text relocations"; fi

	case $(sed -nE 's/^ *Machine: +//p' "$scratch/told") in
	*X86-64*)
		# The note is there only if the C library's start files carry it too, which Debian 12's do not; the mark is in our code.
		marked "$entry" endbr64 || bad "has no landing pads (-fcf-protection): $entry does not begin with endbr64"
		;;
	AArch64)
		marked "$entry" '(bti|paciasp|hint)' || bad "has no landing pads (-mbranch-protection): $entry does not begin with bti"
		;;
	esac
}

marked() {
	awk -v entry="<$1>:" -v mark="$2" '$2 == entry { getline; found = $2 ~ "^" mark; exit } END { exit !found }' "$scratch/code"
}

# Large frames are taken a page at a time, and each page is touched at once.
probes_its_stack() {
	awk '/\t(or|mov)q? +\$0x0,(0x[0-9a-f]+)?\(%rsp/ && page { found = 1; exit }
		/\tstr +xzr, \[sp/ { found = 1; exit }
		{ page = /\tsub +\$0x1000,%rsp/ }
		END { exit !found }' "$scratch/code"
}

imports() {
	grep -qE "$1" "$scratch/imports"
}

file=$build/shim/libreprieve-shim.so
look_at "$file" close
if imports '^__[a-z]*_chk$'; then bad "calls checked functions (_FORTIFY_SOURCE), which musl lacks"; fi
grep -q AArch64 "$scratch/told" || imports '^__stack_chk_fail$' || bad "has no stack protector"

file=$build/supervisor/reprieve
look_at "$file" main
# On aarch64 a frame is large from 64 KiB on, and none of ours is.
grep -q AArch64 "$scratch/told" || probes_its_stack || bad "takes large frames unprobed (-fstack-clash-protection)"
imports '^__(snprintf|vsnprintf|memcpy)_chk$' || bad "calls no checked functions (_FORTIFY_SOURCE)"
imports '^__stack_chk_fail$' || bad "has no stack protector"

[ "$failed" -ne 0 ] || echo "$build: the program and the shim are hardened"
exit "$failed"
