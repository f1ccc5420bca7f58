#!/bin/bash
# The static build (-DREPRIEVE_STATIC=ON) runs in any image with glibc 2.34 or later: it needs the C library alone, and of that no newer
# symbol.
#   check_static.sh BUILD
set -euo pipefail
export LC_ALL=C

program=${1:?usage: check_static.sh BUILD}/supervisor/reprieve
readonly floor=GLIBC_2.34
failed=0

bad() {
	echo "$program: $1" >&2
	failed=1
}

[ -f "$program" ] || {
	echo "$program is not there: build it first" >&2
	exit 1
}

needed=$(objdump -p "$program" | awk '$1 == "NEEDED" { print $2 }')
for name in $needed; do
	[[ $name =~ ^(libc\.so\.6|libm\.so\.6|ld-linux.*)$ ]] || bad "needs $name, which is not of libc"
done

newest=$(objdump -T "$program" | grep -oE 'GLIBC_[0-9]+(\.[0-9]+)+' | sort -uV | tail -n 1)
if [ "$(printf '%s\n' "$newest" "$floor" | sort -V | tail -n 1)" != "$floor" ]; then
	bad "needs $newest, newer than $floor, for: $(objdump -T "$program" | awk -v v="($newest)" '$0 ~ v { print $NF }' | tr '\n' ' ')"
fi

echo "$program: needs $(tr '\n' ' ' <<<"$needed")up to $newest, $(stat -c %s "$program") bytes"
exit "$failed"
