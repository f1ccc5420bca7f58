#!/bin/bash
# What Reprieve costs, as ratios within one run: things to compare are measured in turn (A B A B ...), and medians are shown. The
# aims are printed beside the numbers; nothing is asserted, because a shared machine is no place to assert a time on.
#   tests/bench/run.sh [--smoke] [BINARY [PART...]]      --smoke: small and short, to see that it works, and stores.sh too
#   PART            what to measure, all by default: start_up fork_cost idle_cost shim_cost flag_cost torch_cost notices completion
#                   trips growth many_files gangs snapshots
#   BENCH_DIR       where the checkpoint and the copies go: a tmpfs with five times BENCH_MIB free (default /dev/shm)
#   BENCH_MIB       size of the checkpoint (default 1024)        BENCH_ROUNDS     of each measurement (default 5)
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
smoke=0
if [ "${1-}" = --smoke ]; then
	smoke=1
	shift
fi
binary=$(realpath "${1:-$here/../../build/supervisor/reprieve}")
python=/usr/bin/python3
if [ "$smoke" = 1 ]; then
	mib=${BENCH_MIB:-16} rounds=${BENCH_ROUNDS:-1} starts=5 idle_seconds=2 pairs=500 batches=12 epoch=3
else
	mib=${BENCH_MIB:-1024} rounds=${BENCH_ROUNDS:-5} starts=41 idle_seconds=20 pairs=500 batches=800 epoch=21
fi

place=${BENCH_DIR:-/dev/shm}
if [ "$(df -Pm "$place" 2>/dev/null | awk 'NR == 2 { print $4 }')" -lt $((5 * mib + 100)) ] 2>/dev/null; then
	place=${TMPDIR:-/tmp}
	echo "note: too little room in /dev/shm, so this measures the disk under $place"
fi
work=$(mktemp -d "$place/reprieve-bench.XXXXXX")
idle=
cleanup() {
	if [ -n "$idle" ]; then kill -KILL "$idle" 2>/dev/null || true; fi
	rm -rf "$work"
}
trap cleanup EXIT
cd "$work"
# Nothing of whoever runs this: no settings, no cache, no metadata service.
while IFS='=' read -r name _; do unset "$name"; done < <(env | grep '^REPRIEVE_' || true)
export HOME=$work XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache REPRIEVE_NOTICE=none
export RESTIC_PASSWORD=bench BORG_BASE_DIR=$work/borg-home BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes

now() { date +%s%N; }
median() { sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }
row() { printf '  %-34s %12s %12s   %s\n' "$@"; }
have() { command -v "$1" >/dev/null; }
per() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", a / b; else printf "-" }'; }
ms() { awk -v n="$1" 'BEGIN { printf "%.2f ms", n / 1e6 }'; }

# Runs "$@" and appends its nanoseconds to the file times/$1.
timed() {
	local name=$1 began
	shift
	began=$(now)
	"$@" >>log 2>&1 || {
		echo "failed: $*" >&2
		tail -n 5 log >&2
		return 1
	}
	echo $(($(now) - began)) >>"times/$name"
}
mkdir times

# A run that did not start the job has measured nothing: of all files times/$1 ... there are as many samples.
same_samples() {
	if [ "$(cd times && wc -l "$@" | awk '$2 != "total" { print $1 }' | sort -u | wc -l)" != 1 ]; then
		echo "not as many samples of each of $*" >&2
		return 1
	fi
}

start_up() {
	local bare own name
	for _ in $(seq "$starts"); do
		timed bare true
		if have tini; then timed tini tini -s -- true; fi
		timed init "$binary" run -- true
		timed store "$binary" run -q --store "file://$work/start-store" --job start --restore none -- true
	done
	bare=$(median <times/bare)
	echo "start-up (median of $starts)"
	row "" "time" "added" "aim"
	row "true" "$(ms "$bare")" "" ""
	if have tini; then row "tini -- true" "$(ms "$(median <times/tini)")" "$(ms $(($(median <times/tini) - bare)))" ""; fi
	for name in init store; do
		own=$(median <"times/$name")
		row "reprieve run$([ "$name" = store ] && echo " --store") -- true" "$(ms "$own")" "$(ms $((own - bare)))" "8 ms added"
	done
}

# A fork that ends, and one that becomes another program, in a job with the library and without.
fork_cost() {
	local forks='import os, sys, time
began, count = time.monotonic_ns(), int(sys.argv[1])
for _ in range(count):
    pid = os.fork()
    if not pid:
        os.execv("/bin/true", ["true"]) if sys.argv[2:] else os._exit(0)
    os.waitpid(pid, 0)
print((time.monotonic_ns() - began) // count)'
	local word with without
	for _ in $(seq $((2 * rounds + 1))); do
		for word in "" exec; do
			"$python" -c "$forks" "$pairs" $word >>"times/bare-fork$word"
			"$binary" run -q --shim on --store "file://$work/fork-store" --job fork --restore none -- "$python" -c "$forks" "$pairs" $word \
				>>"times/shim-fork$word" 2>>log
		done
	done
	echo "fork (medians)"
	row "" "without" "with shim" "aim"
	for word in "" exec; do
		without=$(median <"times/bare-fork$word") with=$(median <"times/shim-fork$word")
		row "fork${word:+, exec}" "$(ms "$without")" "$(ms "$with")" "0.1 ms added"
	done
}

# Clock ticks of user and system time so far.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

idle_cost() {
	local before after rss own
	"$binary" run -q --store "file://$work/idle-store" --job idle -- sleep 600 >>log 2>&1 &
	idle=$!
	sleep 1
	before=$(ticks "$idle")
	sleep "$idle_seconds"
	after=$(ticks "$idle")
	rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$idle/status")
	own=$(awk '/^RssAnon/ { print $2 }' "/proc/$idle/status")
	kill -TERM "$idle"
	wait "$idle" || true
	idle=
	echo "supervisor while the job runs (over $idle_seconds s)"
	row "" "measured" "" "aim"
	row "CPU" "$(awk -v t=$((after - before)) -v s="$idle_seconds" -v hz="$(getconf CLK_TCK)" \
		'BEGIN { printf "%.2f %%", 100 * t / hz / s }')" "" "< 0.1 %"
	row "RSS" "$(awk -v k="$rss" 'BEGIN { printf "%.1f MB", k / 1024 }')" "" "< 8 MB"
	row "  of which its own (RssAnon)" "$(awk -v k="$own" 'BEGIN { printf "%.1f MB", k / 1024 }')" "" ""
}

shim_cost() {
	local shim without with kind
	cc -O2 -o open_close "$here/open_close.c"
	mkdir -p tracked untracked
	shim=(run -q --shim on --store "file://$work/shim-store" --job shim --checkpoint-dir "$work/tracked" --restore none --)
	for _ in $(seq $((2 * rounds + 1))); do
		for kind in untracked tracked; do
			./open_close "$work/$kind/file" "$pairs" "$batches" >>"times/bare-$kind"
			"$binary" "${shim[@]}" ./open_close "$work/$kind/file" "$pairs" "$batches" >>"times/shim-$kind" 2>>log
		done
	done
	same_samples {bare,shim}-{untracked,tracked}
	echo "open for writing + close (medians of the fastest batch of $batches)"
	row "" "without" "with shim" "aim"
	for kind in untracked tracked; do
		without=$(median <"times/bare-$kind") with=$(median <"times/shim-$kind")
		row "$kind file" "$without ns" "$with ns" "$(awk -v a="$with" -v b="$without" 'BEGIN { printf "%+.1f %%", 100 * (a / b - 1) }')$(
			[ "$kind" = untracked ] && echo " (aim < 3 %)")"
	done
}

# What the header costs in each step, and what the shim keeps of a process's memory.
flag_cost() {
	local shim what
	cc -O2 -I "$here/../.." -o flag_poll "$here/flag_poll.c"
	shim=(run -q --store "file://$work/flag-store" --job flag --checkpoint-dir "$work/tracked" --restore none)
	mkdir -p tracked
	echo "reprieve.h (medians)"
	row "" "alone" "with reprieve" "aim"
	for _ in $(seq $((2 * rounds + 1))); do
		./flag_poll >>times/flag-bare
		"$binary" "${shim[@]}" -- ./flag_poll >>times/flag-run 2>>log
	done
	same_samples flag-{bare,run}
	for what in requested progress; do
		row "$what()" "$(awk -v w="$what" '$1 == w { print $2 }' times/flag-bare | median) ns" \
			"$(awk -v w="$what" '$1 == w { print $2 }' times/flag-run | median) ns" "< 5 ns"
	done
	row "memory of the shim" "" "$(awk '$1 == "dirty" { print $2 }' times/flag-run | median) KiB" "< 64 KiB"
}

# BENCH_TORCH names a Python that has PyTorch.
torch_cost() {
	local kind with without shim torch=${BENCH_TORCH:-$python}
	if ! "$torch" -c 'import torch' 2>/dev/null; then
		echo "skipped: torch.save and DataLoader (BENCH_TORCH names a Python with PyTorch)"
		return
	fi
	mkdir -p tracked
	shim=(run -q --store "file://$work/torch-store" --job torch --checkpoint-dir "$work/tracked" --restore none --quiet-time 600s)
	for _ in $(seq "$rounds"); do
		for kind in off on; do
			"$binary" "${shim[@]}" --shim "$kind" -- "$torch" "$here/torch_cost.py" "$mib" "$epoch" >>"times/torch-$kind" 2>>log
		done
	done
	same_samples torch-{off,on}
	echo "PyTorch with the shim (medians)"
	row "" "without" "with shim" "aim"
	for kind in save epoch; do
		without=$(awk -v w="$kind" '$1 == w { print $2 }' times/torch-off | median)
		with=$(awk -v w="$kind" '$1 == w { print $2 }' times/torch-on | median)
		row "$([ "$kind" = save ] && echo "torch.save, $mib MiB" || echo "an epoch of a DataLoader")" "$(ms "$without")" "$(ms "$with")" \
			"$(awk -v a="$with" -v b="$without" 'BEGIN { printf "%+.1f %%", 100 * (a / b - 1) }') (aim < 0.5 %)"
	done
}

# fp32 weights as training leaves them: normally distributed, which no compressor makes smaller. Some files, as checkpoints have.
make_checkpoint() {
	mkdir -p checkpoint
	"$python" - "$mib" <<'PYTHON'
import sys, numpy
mib, files, rng = int(sys.argv[1]), 8, numpy.random.default_rng(1)
for number in range(files):
    with open(f"checkpoint/weights-{number}.bin", "wb") as file:
        left = mib * 2**20 // files
        while left:
            count = min(left, 2**24) // 4
            rng.standard_normal(count, dtype=numpy.float32).tofile(file)
            left -= count * 4
PYTHON
}

peers=(cp reprieve)
save_cp() { cp -r checkpoint cp-copy; }
restore_cp() { cp -r cp-copy restored; }
clear_cp() { rm -rf cp-copy; }
save_tar_lz4() { tar -cf - checkpoint | lz4 -q -1 - copy.tar.lz4; }
restore_tar_lz4() { mkdir restored && lz4 -q -dc copy.tar.lz4 | tar -xf - -C restored; }
clear_tar_lz4() { rm -f copy.tar.lz4; }
prepare_restic() { restic -q init --repo "$work/restic"; }
save_restic() { restic -q --repo "$work/restic" backup checkpoint; }
restore_restic() { restic -q --repo "$work/restic" restore latest --target restored; }
clear_restic() { rm -rf restic; }
prepare_borg() { borg init --encryption none borg; }
save_borg() { borg create borg::one checkpoint; }
restore_borg() { mkdir restored && (cd restored && borg extract ../borg::one); }
clear_borg() { rm -rf borg borg-home; }
save_reprieve() { "$binary" save checkpoint --store "file://$work/store" --job bench; }
restore_reprieve() { "$binary" restore latest restored --store "file://$work/store" --job bench; }
clear_reprieve() { rm -rf store; }

same_as_saved() {
	local found
	found=$(find restored -name weights-0.bin -printf '%h\n' | head -n 1)
	diff -r checkpoint "${found:-restored}" >>log || {
		echo "$1 did not give back what was saved" >&2
		return 1
	}
}

snapshots() {
	local name verb base
	local -A aim=([save-reprieve]="<= 2 x" [restore-reprieve]="<= 1.4 x")
	if have lz4; then peers+=(tar_lz4); else echo "skipped: tar | lz4 (lz4 is not installed)"; fi
	for name in restic borg; do
		if have "$name"; then peers+=("$name"); else echo "skipped: $name (not installed)"; fi
	done
	make_checkpoint
	cat checkpoint/* >/dev/null
	for _ in $(seq "$rounds"); do
		for name in "${peers[@]}"; do
			if declare -F "prepare_$name" >/dev/null; then "prepare_$name" >>log 2>&1; fi
			timed "save-$name" "save_$name"
			timed "restore-$name" "restore_$name"
			same_as_saved "$name"
			rm -rf restored
			"clear_$name"
		done
	done
	for verb in save restore; do
		base=$(median <"times/$verb-cp")
		echo "$verb $mib MiB of fp32 weights in $place (median of $rounds)"
		row "" "time" "of cp -r" "aim"
		for name in "${peers[@]}"; do
			row "$(case $name in cp) echo "cp -r" ;; tar_lz4) echo "tar | lz4" ;; *) echo "$name" ;; esac)" "$(ms "$(median <"times/$verb-$name")")" \
				"$(per "$(median <"times/$verb-$name")" "$base") x" "${aim[$verb-$name]-}"
		done
	done
}

# Simulated; 1,024 members take two minutes.
gangs() {
	local scale members all=(16 128 1024)
	scale=$(dirname "$binary")/../tests/bench/gang_scale
	if [ ! -x "$scale" ]; then
		echo "skipped: gangs (not in this build: $scale)"
		return
	fi
	if [ "$smoke" = 1 ]; then all=(16); fi
	echo "gangs: members in one process over a store with 20 ms a request (aim: last part to commit < 2 s at 1,024)"
	echo "| of    | what           |  seconds  |    PUT |    GET |  LIST | DELETE | a member | |"
	for members in "${all[@]}"; do "$scale" "$members" "$idle_seconds" 2>>log; done
}

# What is measured by a script of its own.
script() {
	if [ "$smoke" = 1 ]; then "$python" "$here/$1.py" "$binary" --smoke; else "$python" "$here/$1.py" "$binary"; fi
}
notices() { script notices; }
completion() { script completion; }
trips() { script trips; }
growth() { script growth; }
many_files() { script many_files; }

parts=(start_up fork_cost idle_cost shim_cost flag_cost torch_cost notices completion trips growth many_files gangs snapshots)
if [ $# -gt 1 ]; then
	shift
	for part; do
		if [[ " ${parts[*]} " != *" $part "* ]]; then
			echo "$0: no part \"$part\": ${parts[*]}" >&2
			exit 64
		fi
	done
	parts=("$@")
fi
echo "$("$binary" --version) on $(nproc) processors, $(uname -m)"
for part in "${parts[@]}"; do
	echo
	"$part"
done
# All of it is a run of its own, by hand: it installs what it compares with.
if [ "$smoke" = 1 ]; then
	echo
	"$here/stores.sh" --smoke "$binary"
fi
