#!/bin/bash
# The shim enters processes that are not ours: it needs libc and nothing else, loads on glibc 2.17 and later, and exports
# exactly the names in shim/exports.txt. It loads into musl's programs as well: what it takes from outside musl has too (where musl is
# installed for that processor: packages musl and musl:arm64), and glibc's own loader, which musl has not, is nothing that it needs.
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
	[[ $name =~ ^(libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1)$ ]] || bad "needs $name, which is not of libc"
done

newest=$(readelf -VW "$library" | grep -oE 'GLIBC_[0-9]+(\.[0-9]+)+' | sort -uV | tail -n 1) || bad "names no version of glibc"
if [ "$(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -n 1)" != GLIBC_2.17 ]; then
	bad "needs $newest, newer than GLIBC_2.17, for: $(readelf --dyn-syms -W "$library" | awk -v v="$newest" 'index($0, v) { print $8 }' | tr '\n' ' ')"
fi

# readelf reads every processor's files, nm and objdump only those that they were built for.
# dynamic_symbols FILE UND|DEF: the names that are taken from outside and must be there, or those that are given to others.
dynamic_symbols() {
	readelf --dyn-syms -W "$1" | awk -v want="$2" '$1 ~ /^[0-9]+:$/ && $8 != "" && $4 !~ /^(FILE|SECTION)$/ {
		taken = $7 == "UND"
		if (want == "UND" ? !taken || $5 == "WEAK" : taken || $6 == "HIDDEN" || $7 == "ABS") next
		sub(/@.*/, "", $8); print $8 }' | sort -u
}

machine=$(readelf -hW "$library" | sed -nE 's/^ *Machine: +//p')
musl=/lib/ld-musl-x86_64.so.1
if [ "$machine" = AArch64 ]; then musl=/lib/ld-musl-aarch64.so.1; fi
if [ -f "$musl" ]; then
	dynamic_symbols "$musl" DEF >"$scratch/musl"
	while read -r name; do
		# Since 1.2.4 its loader finds name64, which is name there, without a symbol.
		grep -qxE "$name|${name%64}" "$scratch/musl" || bad "needs $name, which musl does not have"
	done < <(dynamic_symbols "$library" UND)
fi

dynamic_symbols "$library" DEF >"$scratch/exported"
grep -vE '^(#|[[:space:]]*$)' "$root/shim/exports.txt" | sort -u >"$scratch/expected"
if ! difference=$(diff "$scratch/expected" "$scratch/exported"); then
	bad "exports are not those of shim/exports.txt (< listed, > exported):"
	grep '^[<>]' <<<"$difference" >&2
fi

if readelf -dW "$library" | grep -q TEXTREL; then bad "has text relocations"; fi
if readelf -lW "$library" | awk '/GNU_STACK/ && $7 ~ /E/ { found = 1 } END { exit !found }'; then bad "wants an executable stack"; fi

echo "$library: needs $(tr '\n' ' ' <<<"$needed")up to $newest, exports $(wc -l <"$scratch/exported") names"
exit "$failed"
