#!/bin/bash
# Gives whatever a fuzzer thinks of to what parses bytes from outside: notices, stores' answers, the store's formats, archives, what the job
# shares with its supervisor, the control socket, the files that a run leaves, commands with secrets, files of
# credentials, URLs, checkpoints' contents, scontrol's output.
#
#	tests/fuzz/run.sh [--short] [--list] [TARGET...]
#
# --short: for every day: 4 seconds each instead of 5 minutes. Builds with clang into build/fuzz; the inputs that reach new code are
# kept there for the next time, in corpus/TARGET, and the ones that fail in failing/TARGET, where they are tried first until they pass.
# What was fixed belongs into seeds/TARGET. Exit code 0 only if nothing failed; 77 where clang's fuzzer is not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly build=$PWD/build/fuzz at_once=2
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
all=(tests/fuzz/fuzz_*.c)
all=("${all[@]##*/fuzz_}")
all=("${all[@]%.c}")
seconds=300 targets=()
for argument; do
	case $argument in
	--short) seconds=4 ;;
	--list)
		printf '%s\n' "${all[@]}"
		exit 0
		;;
	*)
		[ -f "tests/fuzz/fuzz_$argument.c" ] || {
			echo "no such target: $argument (see tests/fuzz/run.sh --list)" >&2
			exit 64
		}
		targets+=("$argument")
		;;
	esac
done
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")

skip() {
	echo "$1"
	exit 77
}

mkdir -p "$build"
command -v clang >/dev/null || skip "clang is not installed"
clang -fsanitize=fuzzer,address,undefined -x c -o "$build/probe" - 2>/dev/null <<'C' ||
#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) { return data[0] + (int)size < 0; }
C
	skip "clang's fuzzer is not installed (libclang-rt-dev: examples/install_packages.sh test)"
rm -f "$build/probe"

# Lightly optimised: that is built twice as fast, and tried as fast.
if ! { cmake -G Ninja -S . -B "$build" -DCMAKE_C_COMPILER=clang -DREPRIEVE_WERROR=ON -DREPRIEVE_TESTS=OFF -DREPRIEVE_FUZZ=ON \
	-DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -gline-tables-only" && ninja -C "$build" "${targets[@]/#/fuzz_}"; } >"$build/build.log" 2>&1; then
	tail -n 40 "$build/build.log"
	echo "the targets cannot be built"
	exit 1
fi

# Where addresses are randomised by many bits, sanitizers of some versions do not start.
without_randomisation() {
	if setarch "$(uname -m)" -R true 2>/dev/null; then setarch "$(uname -m)" -R "$@"; else "$@"; fi
}

# One target; its log is build/fuzz/TARGET.log.
run_one() {
	local target=$1 code=0 log=$build/$1.log seeds=tests/fuzz/seeds/$1 ran input
	if [ "$target" = content ]; then seeds=tests/vectors/content; fi
	mkdir -p "$build/corpus/$target" "$build/failing/$target"
	without_randomisation "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -artifact_prefix="$build/failing/$target/" \
		"$build/corpus/$target" "$build/failing/$target" "$seeds" >"$log" 2>&1 || code=$?
	ran=$(sed -nE 's/^#([0-9]+)[[:space:]]+DONE +cov: ([0-9]+).*/\1 runs, coverage \2/p' "$log")
	if [ "$code" -eq 0 ] && [ -n "$ran" ]; then
		echo "ok      $target: $ran, no failure"
		return 0
	fi
	input=$(sed -nE 's/^artifact_prefix=.*Test unit written to (.*)/\1/p' "$log" | tail -n 1)
	echo "FAILED  $target: exit code $code, 1 failure: $(grep -m 1 -oE '(does not hold|runtime error|ERROR): .*' "$log" || tail -n 1 "$log")"
	grep -E '^ +#[0-9]+ .* in [a-z_]+ .*\.[ch]:[0-9]+' "$log" | head -n 8 || true
	echo "        again with: $build/tests/fuzz/fuzz_$target ${input:-(see $log)}"
	return 1
}

export -f run_one without_randomisation
export build seconds
# shellcheck disable=SC2016 # expanded by the bash that xargs starts
printf '%s\n' "${targets[@]}" | xargs -P "$at_once" -I '{}' bash -c 'said=$(run_one "$1"); code=$?; printf "%s\n" "$said"; exit "$code"' fuzz '{}' |
	tee "$build/results" || true

passed=$(grep -c '^ok ' "$build/results" || true)
echo "$passed passed, $((${#targets[@]} - passed)) failed, 0 skipped"
[ "$passed" -eq ${#targets[@]} ]
