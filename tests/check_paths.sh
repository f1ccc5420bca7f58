#!/bin/bash
# Finds file names given to the system by path. Work below and beside the checkpoint directory goes by held directory descriptors
# (supervisor/base/held_directory.h, beneath.h), which no exchanged directory and no link of another user leads elsewhere.
#   check_paths.sh [ROOT]        names each call that is not allowed as file:line, and each row that allows nothing any more
#   check_paths.sh --self-test   plants such calls in a copy, and fails unless each is caught
# Exit 1 if there is one.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)

# The system's and the library's, and those of base/ that take a path. The *at() calls count too: a name of several components is
# followed past links all the same.
readonly calls='f?open|freopen|creat|openat|mkdirat|unlinkat|renameat2?|linkat|symlinkat|readlinkat|fchmodat|fchownat|faccessat|mkfifoat|mknodat|utimensat|rename|link|unlink|remove|rmdir|mkdir|mkdtemp|mkstemp|mkostemp|mkfifo|mknod|stat|lstat|statx|statfs|statvfs|access|euidaccess|opendir|scandir|nftw|ftw|fts_open|symlink|readlink|chmod|chown|lchown|truncate|utimes?|lutimes|realpath|chdir|l?getxattr|l?setxattr|l?listxattr|l?removexattr|inotify_add_watch|inotifytools_watch_(file|recursively)|walk_open|file_(open|read|write|replace|make_directories|remove_tree|sync_directory|exists|is_directory|directory_is_empty|directory_state)'

# files | calls | why they may
readonly allowed='
supervisor/base/(beneath(_rename)?|held_directory|walk|file)\.c | .*             | the doors themselves
storage/(storage|store_probe)\.c                      | .*                       | the directory of a file:// store, which the user names
storage/backend/.*                                    | .*                       | the same
storage/((aws|azure|gcs)/.*|http/token_endpoint\.c)  | file_.*                  | credentials, from where the user keeps them
storage/transfer/file_tree\.c                         | realpath                 | tells where a link leads; nothing is opened by it
storage/transfer/file_tree\.c                         | openat|readlinkat        | single names in the directory that is being walked
supervisor/workspace/file_list\.c                     | statx                    | metadata of single names in the directory that is being walked
supervisor/workspace/install\.c                       | utimensat                | single names in a directory from beneath_parent_of()
storage/transfer/restore_tree\.c                      | mkdirat|symlinkat|utimensat | single names in a directory from beneath_parent_of()
storage/snapshots/snapshot_save\.c                    | file_exists              | chooses the words of an error
supervisor/workspace/install\.c                       | realpath                 | tells whether a link leads outside
supervisor/workspace/workspace\.c                     | faccessat                | "." of the folder that is held
supervisor/workspace/(workspace|directory_lock)\.c    | file_read                | the name of this boot, in /proc
supervisor/workspace/directory_check\.c               | file_exists|stat         | judges what the user wrote; nothing is opened by it
supervisor/upload/database_copies\.c                  | walk_open|stat           | compares what SQLite has opened
supervisor/monitor/directory_monitor\.c               | file_is_directory        | is there something to watch?
supervisor/monitor/directory_monitor\.c               | statx                    | metadata alone
supervisor/monitor/inotify_table\.c                   | inotify.*                | /proc/self/fd/N
supervisor/monitor/(shared_file|(shim|left)_channel)\.c | .*                     | the runtime directory: this user alone
supervisor/control/.*                                 | .*                       | the same
supervisor/frameworks/lightning_slurm\.c              | .*                       | the same
supervisor/frameworks/profile\.c                      | file_read|stat           | the script of the command
supervisor/scheduler/outcome\.c           | access|file_is_directory | fixed paths of Kubernetes and SageMaker
supervisor/process/.*                                 | .*                       | /proc, and the program that is run
supervisor/doctor/.*                                  | file_read                | looks at this machine
supervisor/drill/.*                                   | .*                       | a sandbox of its own
supervisor/(launch/launch|job/job_start)\.c | stat|file_(is_directory|exists|directory_is_empty) | chooses words and TMPDIR
supervisor/restore/start_restore\.c                   | file_exists              | a path that a restored file names
supervisor/options/run_options\.c                     | file_exists              | a fixed path of SageMaker
supervisor/cli/cmd_(drill|export|report|restore|save)\.c | .*                    | files and scratch directories that the user names by hand
supervisor/main\.c                                    | open                     | /dev/null
supervisor/base/log\.c                                | open                     | /proc/self/fd/2
'

bad() {
	echo "$1: $2" >&2
	violations=$((violations + 1))
}

# "file:line:call" for each call; comments and declarations are none.
list_calls() {
	grep -rnE "(^|[^A-Za-z0-9_>.])($calls)\(" --include='*.c' supervisor storage |
		sed -E 's,/\*.*\*/,,; s,"([^"\\]|\\.)*",,g' |
		grep -vE '^[^:]+:[0-9]+:[[:space:]]*(\*|/\*|//)' |
		grep -vE '^[^:]+:[0-9]+:(static )?[a-z].*[ *][a-z_0-9]+\([a-z].*[^;]$' |
		sed -nE "s/^([^:]+:[0-9]+):.*[^A-Za-z0-9_>.]($calls)\(.*/\1:\2/p"
}

check_calls() {
	local violations=0 count=0 file line call files names row
	local -A used=()
	cd "$1"
	while IFS=: read -r file line call; do
		count=$((count + 1))
		row=
		while IFS= read -r text; do
			[ -n "$text" ] || continue
			files=${text%% *} names=${text#*| }
			names=${names%% *}
			if [[ $file =~ ^($files)$ && $call =~ ^($names)$ ]]; then
				row=$text
				break
			fi
		done <<<"$allowed"
		if [ -z "$row" ]; then
			bad "$file:$line" "$call() goes by path: use base/held_directory.h and base/beneath.h"
		else
			used[$row]=1
		fi
	done < <(list_calls)
	while IFS= read -r text; do
		[ -z "$text" ] || [ -n "${used[$text]-}" ] || bad tests/check_paths.sh "allows nothing any more: $text"
	done <<<"$allowed"
	echo "$count calls by path, $violations violations"
	[ "$count" -gt 0 ] && [ "$violations" -eq 0 ]
}

# file to spoil | line to plant
readonly plants='
supervisor/workspace/install.c       | (void)rename("a", "b");
supervisor/workspace/workspace.c     | return open(path, 0);
supervisor/restore/start_restore.c   | if (unlink(path) < 0) return;
supervisor/restore/quarantine.c      | file_remove_tree(path, NULL);
supervisor/completion/file_look.c    | lstat(full, \&status);
supervisor/upload/early_upload.c     | FILE *f = fopen(path, "re");
supervisor/monitor/inotify_watch.c   | (void)walk_open(\&walk, full, 0);
supervisor/telemetry/observers.c     | fd = file_open(path, 0, 0, err);
storage/transfer/file_tree.c         | fd = open(path, 0);
storage/transfer/restore_tree.c      | x = linkat(a, path, b, path, 0);
storage/snapshots/snapshot_restore.c | seed = open(request->seed, 0);
'

self_test() {
	local copy file line failed=0 caught=0
	copy=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-paths.XXXXXX")
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$copy'" EXIT
	cp -r "$here/supervisor" "$here/storage" "$copy"
	check_calls "$copy" >"$copy/said" 2>&1 || {
		cat "$copy/said"
		return 1
	}
	while IFS='|' read -r file line; do
		file=${file// /} line=${line//\\/}
		[ -n "$file" ] || continue
		printf 'void planted(void)\n{\n\t%s\n}\n' "${line# }" >>"$copy/$file"
		if (check_calls "$copy") >"$copy/said" 2>&1 || ! grep -qF "$file:" "$copy/said"; then
			echo "not caught: $file: $line"
			failed=$((failed + 1))
		else
			caught=$((caught + 1))
		fi
		cp "$here/$file" "$copy/$file"
	done <<<"$plants"
	# A row that allows nothing is told.
	sed -i 's/open(/closed(/' "$copy/supervisor/main.c"
	if (check_calls "$copy") >"$copy/said" 2>&1 || ! grep -q 'allows nothing' "$copy/said"; then
		echo "not caught: a stale row"
		failed=$((failed + 1))
	fi
	echo "$caught planted calls were caught, $failed were not"
	[ "$failed" -eq 0 ]
}

case ${1-} in
--self-test) self_test ;;
*) check_calls "${1-$here}" ;;
esac
