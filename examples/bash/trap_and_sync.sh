#!/bin/bash
# What is often written instead of Reprieve: `trap` and a copy of the checkpoints now and then. `reprieve drill --trace` compares them.
#   STORE=DIR [CHECKPOINTS=DIR] [SAVE_SIGNAL=TERM] [NOTICE=30] [EVERY=60] trap_and_sync.sh COMMAND [ARG...]
set -u
checkpoints=${CHECKPOINTS:-checkpoints}
store=${STORE:?a directory that the next machine can reach}

# sync FROM TO: each file that differs, under its name only once it is whole, as `aws s3 sync` does.
sync() {
	[[ -d $1 ]] || return 0
	(cd "$1" && find . -type f ! -name .part -print0) | while IFS= read -r -d '' file; do
		cmp -s "$1/$file" "$2/$file" && continue
		mkdir -p "$2/$(dirname "$file")"
		cp -p "$1/$file" "$2/.part" && mv "$2/.part" "$2/$file"
	done
}

# Asks the job to save, gives it half of the notice, and copies what is there.
# shellcheck disable=SC2317  # by `trap`
leave() {
	kill -s "${SAVE_SIGNAL:-TERM}" "$job"
	for ((i = 0; i < ${NOTICE:-30} * 5; i++)); do
		kill -0 "$job" 2>/dev/null || break
		sleep 0.1
	done
	sync "$checkpoints" "$store"
	kill -KILL "$job" 2>/dev/null
	exit 143
}

mkdir -p "$checkpoints" "$store"
sync "$store" "$checkpoints"
"$@" &
job=$!
trap leave TERM
while kill -0 "$job" 2>/dev/null; do
	sync "$checkpoints" "$store"
	sleep "${EVERY:-60}" &
	wait -n "$job" $!
done
wait "$job"
code=$?
sync "$checkpoints" "$store"
exit "$code"
