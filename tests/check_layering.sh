#!/bin/bash
# Who may include whom, and which file is the one door to which library.
#   check_layering.sh [ROOT]        names every violation as file:line; exit 1 if there is one
#   check_layering.sh --self-test   plants violations in a copy, and fails unless each is caught
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
readonly public=" storage/storage.h cloud/cloud.h cloud/mock/mock.h shim/shim.h shim/reprieve.h "

# header (extended regular expression) | the files that may include it
readonly doors='
curl/.*               | supervisor/base/http(_trust)?\.[ch]
microhttpd\.h         | supervisor/base/httpd\.c
openssl/.*            | supervisor/base/[a-z0-9_]+\.[ch]|storage/[a-z0-9]+/(azure_shared_key|jwt|sigv4)\.[ch]|storage/(azure_sign|jwt|sigv4)\.[ch]
archive(_entry)?\.h   | storage/([a-z]+/)?((file_)?tree|(file_)?tree_walk|(snapshot_)?export|(snapshot_)?import)\.[ch]
lz4[a-z]*\.h          | storage/(format/)?chunk\.c
inotifytools/.*       | supervisor/(watch_table|monitor/inotify_table)\.c
'
# What the shim may take from the system: libc and the kernel, nothing else.
readonly libc='(sys|linux|asm|bits|netinet|arpa)/.*|assert\.h|ctype\.h|dirent\.h|dlfcn\.h|elf\.h|errno\.h|fcntl\.h|features\.h|gnu/libc-version\.h|inttypes\.h|limits\.h|link\.h|poll\.h|pthread\.h|sched\.h|semaphore\.h|signal\.h|spawn\.h|stdarg\.h|stdatomic\.h|stdbool\.h|stddef\.h|stdint\.h|stdio\.h|stdlib\.h|string\.h|strings\.h|time\.h|unistd\.h|wchar\.h'

# The functions below answer in $answer: a subshell for each of a thousand includes would take a minute.
layer_of() {
	case $1 in
	supervisor/base/*) answer=base ;;
	*) answer=${1%%/*} ;;
	esac
}

# The file in the tree that #include "$2" in file $1 means; empty if there is none.
resolve() {
	for answer in "${1%/*}/$2" "$2" "${1%%/*}/$2" "supervisor/$2"; do
		[ -f "$answer" ] || continue
		case $answer in
		*./*) answer=$(realpath -s --relative-to=. "$answer") ;;
		esac
		return
	done
	answer=
}

bad() {
	echo "$1: $2" >&2
	violations=$((violations + 1))
}

check_own() {
	local file=$1 line=$2 name=$3 target from to
	resolve "$file" "$name"
	target=$answer
	if [ -z "$target" ]; then
		bad "$file:$line" "\"$name\" is no file of the tree under that name (write it as folder/name.h)"
		return
	fi
	layer_of "$file"
	from=$answer
	layer_of "$target"
	to=$answer
	if [ "$from" = "$to" ]; then return 0; fi
	case "$from:$to" in
	storage:base | cloud:base | supervisor:base) return 0 ;;
	esac
	if [ "$from" = supervisor ] && [[ $public == *" $target "* ]]; then return 0; fi
	bad "$file:$line" "$from must not include $target"
}

check_system() {
	local file=$1 line=$2 name=$3 header users
	layer_of "$file"
	if [ "$answer" = shim ] && ! [[ $name =~ ^($libc)$ ]]; then
		bad "$file:$line" "the shim uses libc only, not <$name>"
	fi
	while read -r header _ users; do
		[ -n "$header" ] || continue
		if [[ $name =~ ^($header)$ ]] && ! [[ $file =~ ^($users)$ ]]; then
			bad "$file:$line" "<$name> has its door elsewhere: $users"
		fi
	done <<<"$doors"
}

check() {
	local violations=0 includes=0 file line text answer
	cd "$1"
	while IFS=: read -r file line text; do
		includes=$((includes + 1))
		if [[ $text =~ include[[:space:]]*\"([^\"]+)\" ]]; then
			check_own "$file" "$line" "${BASH_REMATCH[1]}"
		elif [[ $text =~ include[[:space:]]*\<([^\>]+)\> ]]; then
			check_system "$file" "$line" "${BASH_REMATCH[1]}"
		else
			bad "$file:$line" "an include that cannot be read: $text"
		fi
	done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.[ch]' supervisor storage cloud shim)
	echo "$includes includes, $violations violations"
	[ "$includes" -gt 0 ] && [ "$violations" -eq 0 ]
}

# file to spoil | line to plant. Each must make the check fail and be named by it.
readonly planted='
storage/planted.c          | #include "cloud/cloud.h"
storage/planted.c          | #include "job_machine.h"
cloud/planted.c            | #include "storage/storage.h"
cloud/mock/planted.c       | #include "../../storage/storage.h"
shim/planted.c             | #include "base/err.h"
shim/planted.c             | #include <openssl/evp.h>
shim/planted.c             | #include <jansson.h>
supervisor/planted.c       | #include "storage/planted.h"
supervisor/planted.c       | #include "storage.h"
supervisor/planted.c       | #include <curl/curl.h>
supervisor/planted.c       | #  include <archive.h>
supervisor/drill/planted.c | #include "cloud/planted.h"
supervisor/base/planted.c  | #include "storage/storage.h"
supervisor/base/planted.c  | #include "../planted.h"
storage/planted.c          | #include <inotifytools/inotifytools.h>
cloud/planted.c            | #include <microhttpd.h>
'

self_test() {
	local copy file text missed=0 tried=0
	copy=$(mktemp -d)
	# shellcheck disable=SC2064 # the path as it is now
	trap "rm -rf '$copy'" EXIT
	cp -R --parents supervisor storage cloud shim "$copy"
	mkdir -p "$copy/cloud/mock" "$copy/supervisor/drill"
	touch "$copy"/{storage,cloud,supervisor}/planted.h "$copy/supervisor/job_machine.h"
	while IFS='|' read -r file text; do
		file=${file// /}
		[ -n "$file" ] || continue
		tried=$((tried + 1))
		echo "${text# }" >"$copy/$file"
		if (check "$copy") >"$copy/said" 2>&1 || ! grep -q "^$file:1: " "$copy/said"; then
			echo "not caught: $file: $text" >&2
			missed=$((missed + 1))
		fi
		rm "$copy/$file"
	done <<<"$planted"
	echo "$tried violations planted, $missed missed"
	[ "$tried" -gt 0 ] && [ "$missed" -eq 0 ]
}

cd "$here"
if [ "${1-}" = --self-test ]; then
	self_test
else
	(check "${1:-$here}")
fi
