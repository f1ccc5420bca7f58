#!/bin/bash
# Who may use whom (tests/layers.txt), and which file is the one door to which library.
#   check_layering.sh [ROOT]         looks at every include; names each violation as file:line
#   check_layering.sh --link BUILD   asks the linker: every symbol that an object of one folder takes from another
#   check_layering.sh --self-test    plants violations in a copy, and fails unless each is caught
# Exit 1 if there is a violation.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)

# header (extended regular expression) | the files that may include it
readonly doors='
curl/.*               | supervisor/base/http\.c
microhttpd\.h         | supervisor/base/httpd\.c
openssl/.*            | supervisor/base/[a-z0-9_]+\.[ch]|storage/aws/sigv4\.c|storage/azure/azure_store\.c|storage/gcs/google_credentials\.c
archive(_entry)?\.h   | storage/snapshots/snapshot_export\.c
lz4[a-z]*\.h          | storage/format/chunk\.c
xxh(ash|3)\.h         | storage/format/xxh3_code\.h
zstd[a-z_]*\.h        | storage/format/weights\.c
expat\.h              | storage/http/xml\.c
(dirent|ftw|fts)\.h   | supervisor/base/walk\.c|storage/transfer/file_tree\.c
inotifytools/.*       | supervisor/monitor/inotify_table\.c
sqlite3\.h            | supervisor/upload/database_copies\.c
'
# What the shim may take from the system: libc and the kernel, nothing else.
readonly libc='(sys|linux|asm|bits|netinet|arpa)/.*|assert\.h|ctype\.h|dirent\.h|dlfcn\.h|elf\.h|errno\.h|fcntl\.h|features\.h|gnu/libc-version\.h|inttypes\.h|limits\.h|link\.h|poll\.h|pthread\.h|sched\.h|semaphore\.h|signal\.h|spawn\.h|stdarg\.h|stdatomic\.h|stdbool\.h|stddef\.h|stdint\.h|stdio\.h|stdlib\.h|string\.h|strings\.h|time\.h|unistd\.h|wchar\.h'

# Reads tests/layers.txt: uses[folder] holds the names of the folders that it may use, public[folder] the headers that are for others.
# The order of the rows is the order of the layers, so a row that uses a later one is itself a violation.
declare -A uses public seen
read_layers() {
	local folder row word name
	while IFS='|' read -r folder row; do
		folder=${folder// /}
		if [ -z "$folder" ] || [[ $folder == \#* ]]; then continue; fi
		name=${folder##*/}
		uses[$folder]=" ${row%%by *} "
		public[$folder]=" $name.h "
		case $row in
		*'by '*) public[$folder]=" ${row##*by } " ;;
		esac
		for word in ${uses[$folder]}; do
			[ -n "${seen[$word]-}" ] || bad tests/layers.txt "$folder uses $word, which is not above it in the list"
		done
		seen[$name]=1
	done <"$here/tests/layers.txt"
}

bad() {
	echo "$1: $2" >&2
	violations=$((violations + 1))
}

# Whether folder $1 may use folder $2.
may_use() { [ "$1" = "$2" ] || [[ ${uses[$1]} == *" ${2##*/} "* ]]; }

# The file in the tree that #include "$2" in file $1 means, in $answer; empty if there is none. (A subshell for each of three thousand
# includes would take a minute.)
resolve() {
	for answer in "${1%/*}/$2" "$2" "supervisor/$2"; do
		[ -f "$answer" ] || continue
		case $answer in
		*./*) answer=$(realpath -s --relative-to=. "$answer") ;;
		esac
		return
	done
	answer=
}

check_own() {
	local file=$1 line=$2 name=$3 from=${1%/*} target to
	resolve "$file" "$name"
	target=$answer
	if [ -z "$target" ]; then
		bad "$file:$line" "\"$name\" is no file of the tree under that name (write it as folder/name.h)"
		return
	fi
	to=${target%/*}
	if [ "$from" = "$to" ]; then return 0; fi
	if [ -z "${uses[$from]-}" ] || [ -z "${uses[$to]-}" ]; then
		bad "$file:$line" "tests/layers.txt has no row for $from or for $to"
	# storage.h is what these implement. It brings the other public headers of storage/ with it
	# (storage_attempts.h, storage_save.h, ...): they are included through it alone.
	elif [[ $from:$target =~ ^storage/(records|gangs|snapshots):storage/storage\.h$ ]]; then
		return 0
	elif ! may_use "$from" "$to"; then
		bad "$file:$line" "$from must not use $to"
	elif [ "$to" != supervisor/base ] && [[ ${public[$to]} != *" ${target##*/} "* ]]; then
		bad "$file:$line" "${target##*/} is private to $to: from outside it is used through${public[$to]}"
	fi
}

check_system() {
	local file=$1 line=$2 name=$3 header users
	if [[ $file == shim/* ]] && ! [[ $name =~ ^($libc)$ ]]; then
		bad "$file:$line" "the shim uses libc only, not <$name>"
	fi
	while read -r header _ users; do
		[ -n "$header" ] || continue
		if [[ $name =~ ^($header)$ ]] && ! [[ $file =~ ^($users)$ ]]; then
			bad "$file:$line" "<$name> has its door elsewhere: $users"
		fi
	done <<<"$doors"
}

check_includes() {
	local violations=0 includes=0 file line text answer
	cd "$1"
	read_layers
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

# Every symbol that one folder takes from another: "FOLDER FOLDER SYMBOL". Each folder's library lies in the folder of the build that
# mirrors it; an object whose source has moved may lie there as well, but is in no library any more.
linked_symbols() {
	find supervisor storage cloud \( -name 'lib*.a' -o -name 'main.c.o' \) -print0 | xargs -0 nm -A -P |
		sed -nE 's,^([a-z0-9_/]+)/(lib[a-z0-9_]+\.a\[[^]]*\]|CMakeFiles/[^/]+\.dir/main\.c\.o): ,\1 ,p' |
		awk '$3 ~ /^[TDBRVC]$/ { home[$2] = $1 }
			$3 == "U" { wants[$1 " " $2] = 1 }
			END {
				for (pair in wants) {
					split(pair, part, " ")
					if (part[2] in home && home[part[2]] != part[1]) print part[1], home[part[2]], part[2]
				}
			}' | sort
}

check_link() {
	local violations=0 symbols=0 from to symbol
	cd "$1"
	read_layers
	while read -r from to symbol; do
		symbols=$((symbols + 1))
		# The stand-ins of the static build belong to no folder.
		if [ -z "${uses[$from]-}" ] || [ -z "${uses[$to]-}" ]; then
			[[ $from == supervisor/static || $to == supervisor/static ]] || bad "$from" "tests/layers.txt has no row for it or for $to"
		# What storage.h declares is written in the folders below it.
		elif [[ $from == supervisor/* && $to == storage/* ]] && may_use "$from" storage; then
			continue
		elif ! may_use "$from" "$to"; then
			bad "$from" "must not use $to, but takes $symbol from it"
		fi
	done < <(linked_symbols)
	echo "$symbols symbols between folders, $violations violations"
	[ "$symbols" -gt 0 ] && [ "$violations" -eq 0 ]
}

# file to spoil | line to plant. Each must make the check fail and be named by it: one for each kind of rule and each part.
readonly planted='
storage/planted.c             | #include "cloud/cloud.h"
storage/planted.c             | #include "job/job.h"
storage/format/planted.c      | #include "storage/transfer/transfer.h"
storage/format/planted.c      | #include "storage/storage.h"
storage/http/planted.c        | #include "storage/aws/aws.h"
storage/s3/planted.c          | #include "storage/azure/azure.h"
storage/s3/planted.c          | #include "storage/aws/sigv4.h"
storage/snapshots/planted.c   | #include "storage/transfer/sending.h"
storage/planted.c             | #include <inotifytools/inotifytools.h>
storage/snapshots/planted.c   | #include <lz4.h>
storage/s3/planted.c          | #include <expat.h>
cloud/planted.c               | #include "storage/storage.h"
cloud/planted.c               | #include "process/process.h"
cloud/planted.c               | #include <microhttpd.h>
cloud/mock/planted.c          | #include "../../storage/storage.h"
shim/planted.c                | #include "base/err.h"
shim/planted.c                | #include <openssl/evp.h>
shim/planted.c                | #include <jansson.h>
supervisor/base/planted.c     | #include "storage/storage.h"
supervisor/base/planted.c     | #include "process/process.h"
supervisor/process/planted.c  | #include "workspace/workspace.h"
supervisor/monitor/planted.c  | #include "completion/completion.h"
supervisor/planning/planted.c | #include "job/job.h"
supervisor/request/planted.c  | #include "restore/restore.h"
supervisor/request/planted.c  | #include "process/process_tree.h"
supervisor/job/planted.c      | #include "cli/cli.h"
supervisor/job/planted.c      | #include "storage/planted.h"
supervisor/job/planted.c      | #include "completion/detector.h"
supervisor/job/planted.c      | #include "lifecycle_that_is_not_there.h"
supervisor/cli/planted.c      | #include <curl/curl.h>
supervisor/base/planted.c     | #include <dirent.h>
supervisor/cli/planted.c      | #  include <archive.h>
supervisor/drill/planted.c    | #include "cloud/planted.h"
supervisor/planted.c          | #include "storage/storage.h"
supervisor/new/planted.c      | #include "base/err.h"
'

self_test() {
	local copy file text missed=0 tried=0
	copy=$(mktemp -d)
	# shellcheck disable=SC2064 # the path as it is now
	trap "rm -rf '$copy'" EXIT
	cp -R --parents supervisor storage cloud shim "$copy"
	mkdir -p "$copy/supervisor/new"
	touch "$copy"/{storage,cloud}/planted.h
	# Each check reads three thousand includes, so all are planted at once, each file with a line of its own for each.
	while IFS='|' read -r file text; do
		file=${file// /}
		[ -n "$file" ] || continue
		tried=$((tried + 1))
		echo "${text# }" >"$copy/${file%.c}_$tried.c"
	done <<<"$planted"
	(check_includes "$copy") >"$copy/said" 2>&1 && missed=$tried
	tried=0
	while IFS='|' read -r file text; do
		file=${file// /}
		[ -n "$file" ] || continue
		tried=$((tried + 1))
		grep -q "^${file%.c}_$tried.c:1: " "$copy/said" && continue
		echo "not caught: $file: $text" >&2
		missed=$((missed + 1))
	done <<<"$planted"
	echo "$tried violations planted, $missed missed"
	[ "$tried" -gt 0 ] && [ "$missed" -eq 0 ]
}

cd "$here"
case ${1-} in
--self-test) self_test ;;
--link) (check_link "${2:?usage: check_layering.sh --link BUILD}") ;;
*) (check_includes "${1:-$here}") ;;
esac
