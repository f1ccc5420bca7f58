#!/bin/bash
# The shim enters processes that are not ours: it needs libc and nothing else, loads on glibc 2.17 and later, and exports
# exactly the names in shim/exports.txt.
#   check_shim.sh [BUILD]     default: build
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
library=${1:-$root/build}/shim/libreprieve-shim.so
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

bad() {
	echo "$library: $1" >&2
	failed=1
}

[ -f "$library" ] || {
	echo "$library is not there: build it first" >&2
	exit 1
}

needed=$(readelf -dW "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
for name in $needed; do
	[[ $name =~ ^(libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux.*)$ ]] || bad "needs $name, which is not of libc"
done

newest=$(readelf -VW "$library" | grep -oE 'GLIBC_[0-9]+(\.[0-9]+)+' | sort -uV | tail -n 1) || bad "names no version of glibc"
if [ "$(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -n 1)" != GLIBC_2.17 ]; then
	bad "needs $newest, newer than GLIBC_2.17, for: $(objdump -T "$library" | awk -v v="$newest" '$0 ~ v { print $NF }' | tr '\n' ' ')"
fi

nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >"$scratch/exported"
grep -vE '^(#|[[:space:]]*$)' "$root/shim/exports.txt" | sort -u >"$scratch/expected"
if ! difference=$(diff "$scratch/expected" "$scratch/exported"); then
	bad "exports are not those of shim/exports.txt (< listed, > exported):"
	grep '^[<>]' <<<"$difference" >&2
fi

if readelf -dW "$library" | grep -q TEXTREL; then bad "has text relocations"; fi
if readelf -lW "$library" | awk '/GNU_STACK/ && $7 ~ /E/ { found = 1 } END { exit !found }'; then bad "wants an executable stack"; fi

echo "$library: needs $(tr '\n' ' ' <<<"$needed")up to $newest, exports $(wc -l <"$scratch/exported") names"
exit "$failed"
