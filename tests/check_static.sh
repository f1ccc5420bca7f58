#!/bin/bash
# The static build (-DREPRIEVE_STATIC=ON) needs the C library alone, and of that no newer symbol than the system has to ask for that it is
# built on: glibc 2.34 where that has one before 2.38 (Debian 12), else 2.38, whose headers have new names for strtol() (Ubuntu 24.04).
#   check_static.sh BUILD
set -euo pipefail
export LC_ALL=C

program=${1:?usage: check_static.sh BUILD}/supervisor/reprieve
built_on=$(getconf GNU_LIBC_VERSION)
floor=GLIBC_2.34
if [ "$(printf '%s\n' "${built_on#glibc }" 2.38 | sort -V | head -n 1)" = 2.38 ]; then floor=GLIBC_2.38; fi
readonly floor
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
