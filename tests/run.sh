#!/bin/bash
# Builds and tests everything, on a bare Debian 12, Debian 13 or Ubuntu 24.04, as root or with sudo.
#   tests/run.sh                 all lanes but sge and oar, four at a time
#   tests/run.sh LANE...         these, and the builds that they need
#   tests/run.sh --all [LANE...] with nothing drawn by lot: what is costly is otherwise tried in a share, another one with each commit
#   tests/run.sh --list          the lanes
# One line per lane, with its seconds and those of the processors; its log is build/test-logs/LANE.log. The very last line adds up all
# test cases; exit 0 only if none failed, and 77 if a lane that was named could not be tried.
# A few cases that fail in the crowd are looked at once more: each has to pass three times, alone, and is counted and named in the end.
# That separates a machine that was too busy from a fault; it does not excuse the test. A sanitizer's report is a fault at once.
# Sources stay as they are: everything that this makes lies in build/ or in a temporary directory.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 70
exec </dev/null

readonly build=$PWD/build logs=$PWD/build/test-logs
readonly python=/usr/bin/python3 # apt's pytest; another python may be the first in PATH
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
export CCACHE_DIR=$build/ccache CCACHE_NOHASHDIR=1
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# What each lane is like, for the one place of each kind that there is (two, of those that wait):
#   jobs       runs jobs that work and wait
#   waits      mostly waits for something to happen
#   computes   keeps both processors busy for as long as it takes; yields to the others, whose jobs have deadlines
# Within a kind the longest come first, but for what others wait for.
# lane | lanes that must have passed | kind | minutes after which it counts as hung
readonly table='
install      |             | waits    | 10
build-gcc    | install     | computes | 15
build-asan   | install     | computes | 15
layering     |             | jobs     | 2
layering-self|             | jobs     | 2
paths        |             | jobs     | 1
paths-self   |             | jobs     | 3
mutation-self| install     | jobs     | 2
size         | install     | jobs     | 1
size-self    | install     | jobs     | 1
shellcheck   | install     | jobs     | 2
findings     |             | jobs     | 2
format       | install     | jobs     | 2
manpage      | install     | jobs     | 1
ci-files     | install     | waits    | 3
e2e          | build-gcc   | jobs     | 25
stores       | build-gcc   | waits    | 20
unit         | build-gcc   | computes | 20
model        | build-gcc   | computes | 10
unit-asan    | build-asan  | computes | 20
valgrind     | build-gcc   | computes | 25
tidy         | build-gcc   | computes | 15
build-tsan   | build-gcc   | computes | 15
unit-tsan    | build-tsan  | computes | 20
fuzz         | install     | computes | 10
e2e-asan     | build-asan  | jobs     | 25
slurm        | build-gcc   | waits    | 10
sge          | build-gcc   | waits    | 10
oar          | build-gcc   | waits    | 10
writers      | build-gcc   | jobs     | 15
containers   | build-gcc   | jobs     | 20
store-faults | build-gcc   | waits    | 15
frameworks   | build-gcc   | waits    | 10
codes        | build-gcc   | waits    | 15
idioms       | build-gcc   | jobs     | 20
bench        | build-gcc   | jobs     | 5
notices      | build-gcc   | waits    | 15
faults       | build-gcc   | jobs     | 15
differential | build-gcc   | jobs     | 15
linkage      | build-gcc   | jobs     | 1
shim         | build-gcc   | jobs     | 1
hardening    | build-gcc   | jobs     | 1
packages     | build-gcc   | jobs     | 2
tree         |             | jobs     | 1
'

# --- the lanes: each a function that runs in its own process; exit 77 means skipped, with the reason as its last line ---

have() {
	command -v "$1" >/dev/null && return
	echo "$1 is not installed: tests/run.sh install"
	exit 77
}

sources() {
	find supervisor storage cloud shim tests examples -name "$1" -not -path '*/.venv/*' | sort
}

lane_install() {
	bash examples/install_packages.sh build run test
}

configure() {
	local directory=$1
	shift
	cmake -G Ninja -S . -B "$directory" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DREPRIEVE_WERROR=ON -DREPRIEVE_TESTS=ON "$@"
}

configure_and_build() { configure "$@" && ninja -C "$1"; }

# What it compiles, the static build of tests/containers takes from the cache.
lane_build-gcc() {
	local launcher=()
	if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
	configure_and_build build -DCMAKE_C_COMPILER=gcc ${launcher[@]+"${launcher[@]}"}
}
# Lightly optimised, a sanitized program is compiled in half the time, and sees no less.
lane_build-asan() {
	configure build/asan -DCMAKE_C_COMPILER=gcc -DREPRIEVE_SANITIZE=address,undefined -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g1 -DNDEBUG" &&
		sanitized | xargs ninja -C build/asan reprieve reprieve-shim
}
# The unit programs of it that are built.
sanitized() {
	sources 'test_*.c' | sed -n 's|^tests/unit/.*/\(test_.*\)\.c$|\1|p' | drawn_or_changed 2 '^test_(MODULES)$'
}
# By gcc: clang's TSan waits for itself in the handler of a SIGBUS that comes in an atomic store (tests/unit/monitor/test_shim_channel.c).
# Only what can race is built, and its twins in build-gcc tell what that is.
lane_build-tsan() {
	configure build/tsan -DCMAKE_C_COMPILER=gcc -DREPRIEVE_SANITIZE=thread -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g1 -DNDEBUG" &&
		racing_drawn | xargs ninja -C build/tsan
}

# What costs much, and hardly finds what no other lane does, is tried in a share that the commit draws: over some commits everything is.
# --all: all of it. REPRIEVE_TEST_DRAW=N: as if the commit were number N. As in tests/e2e/conftest.py.
share() { # OF: which one, of so many
	local commit=${REPRIEVE_TEST_DRAW-}
	if [ "$commit" = all ]; then
		echo 0/1
		return
	fi
	[ -n "$commit" ] || commit=16#$(git rev-parse HEAD 2>/dev/null | cut -c 1-12 | grep . || echo 0)
	echo "$((commit % $1))/$1"
}
drawn() { # OF: the lines of standard input that are in the share
	"$python" -c 'import sys, zlib
share, of = map(int, sys.argv[1].split("/"))
sys.stdout.writelines(line for line in sys.stdin if zlib.crc32(line.strip().encode()) % of == share)' "$(share "$1")"
}

# What has changed since REPRIEVE_TEST_BASE (the commit before this one), or has not been committed yet.
changed() {
	{
		git diff --name-only --diff-filter=d "${REPRIEVE_TEST_BASE-HEAD~1}" -- || true
		git ls-files --others --exclude-standard || true
	} 2>/dev/null
}
# Whatever is drawn, also what is about a changed module: the lines that match PATTERN, in which MODULES stands for their names.
drawn_or_changed() { # OF PATTERN
	local all modules
	all=$(cat)
	modules=$(changed | sed -nE 's|.*/(test_)?([^/]*)\.[ch]$|\2|p' | sort -u | paste -sd '|')
	{
		drawn "$1" <<<"$all"
		grep -E "${2/MODULES/${modules:-^}}" <<<"$all" || true
	} | sort -u
}

# Those that have a source: an older build leaves others.
unit_programs() {
	local source
	sources 'test_*.c' | grep '^tests/unit/' | while read -r source; do
		[ ! -x "$1/${source%.c}" ] || echo "$1/${source%.c}"
	done
}

# The names of the unit programs in which two things can happen at once: that start a thread (libmicrohttpd starts one that calls us), or
# that have something done when a signal comes.
racing_programs() {
	local program symbols found=
	while read -r program; do
		symbols=$(nm --dynamic --undefined-only "$program") || return 1
		grep -qE ' (pthread_create|MHD_start_daemon|sigaction|signal)(@|$)' <<<"$symbols" || continue
		printf '%s\n' "${program##*/}"
		found=1
	done < <(unit_programs "$1")
	[ -n "$found" ]
}

racing_drawn() {
	local programs
	programs=$(racing_programs build) && drawn_or_changed 3 '^test_(MODULES)$' <<<"$programs"
}

# gcc 12's sanitizers do not start where the kernel randomises addresses by more than 28 bits (Ubuntu 24.04's does).
without_randomisation() {
	if setarch "$(uname -m)" -R true 2>/dev/null; then
		setarch "$(uname -m)" -R "$@"
	else
		"$@"
	fi
}

# What fails in the crowd gets a second look: it has to pass three times, alone. Standard input has its names; COMMAND is called with the
# round and the names. What a sanitizer or valgrind reports is a fault, however seldom it happens, and gets none.
look_again() {
	local -a failed
	local round
	readarray -t failed
	if grep -qE '(Address|Leak|Thread|UndefinedBehavior)Sanitizer: |: runtime error: |^== test_.*: exit 99$' "$logs/$lane.log"; then return 1; fi
	if [ ${#failed[@]} -lt 1 ] || [ ${#failed[@]} -gt 3 ]; then return 1; fi
	for round in 1 2 3; do
		echo "== alone, round $round of 3"
		"$@" "$round" "${failed[@]}" || return 1
	done
	printf '%s\n' "${failed[@]}" >"$logs/$lane.again"
}

# The unit programs of a build, three at a time: some wait. Options are ctest's.
run_ctest() {
	local -r list=$1/Testing/Temporary/LastTestsFailed.log
	rm -f "$list"
	ctest_in "$1" -j 3 "${@:2}" && return
	[ -f "$list" ] || return 1
	sed 's/^[0-9]*://' "$list" | look_again ctest_alone "$1"
}
ctest_in() {
	case $1 in
	build/asan | build/tsan) without_randomisation ctest --test-dir "$1" --no-tests=error -V "${@:2}" ;;
	*) ctest --test-dir "$1" --no-tests=error -V "${@:2}" ;;
	esac
}
ctest_alone() { ctest_in "$1" --timeout 600 -R "^($(printf '%s\n' "${@:3}" | paste -sd '|'))\$"; }

# The models play all their histories in the plain build, where they or what they model has changed, and else with one commit of four: what
# they decide is the same in each build. The others look at how, and those that are slow at it do not repeat so often what they have seen.
lane_unit() {
	local -r models='^(storage|supervisor|tests/unit)/(core|gang|gangs|snapshots|records)/'
	if [ "$(share 4)" != 0/4 ] && [ "$(share 4)" != 0/1 ] && ! changed | grep -qE "$models"; then
		export REPRIEVE_HISTORIES=${REPRIEVE_HISTORIES-5000}
		echo "small effort: $REPRIEVE_HISTORIES histories"
	fi
	run_ctest build --timeout 600
}
# The simulator of saves: two seeds, against its table.
lane_model() { tests/model/run.py; }
lane_unit-asan() {
	local names
	names=$(sanitized | sed 's/^test_//' | paste -sd '|')
	REPRIEVE_HISTORIES=1000 REPRIEVE_TEST_EFFORT=small run_ctest build/asan --timeout 600 -R "^($names)\$"
}
lane_unit-tsan() {
	local names
	names=$(racing_drawn | sed 's/^test_//' | paste -sd '|')
	REPRIEVE_HISTORIES=1000 REPRIEVE_TEST_EFFORT=small run_ctest build/tsan --timeout 600 -R "^($names)\$"
}

# One program under valgrind; `how` is put before its name. Valgrind takes fifty times as long, and sees in the first rounds what there is to
# see: a program that is not through after ten seconds of a processor is cut there, and says so; REPRIEVE_TEST_EFFORT=full: none is.
under_valgrind() {
	local how=$1 program=$2 said code=0 bound=(prlimit --cpu=10:15)
	local -r report='^==[0-9]+== (Invalid|Conditional|Use of|Syscall|Mismatched|Source and)'
	SECONDS=0
	if [ "$REPRIEVE_TEST_EFFORT" = full ]; then bound=(); fi
	said=$(cd build/tests/unit && timeout 600 ${bound[@]+"${bound[@]}"} valgrind -q --error-exitcode=99 --leak-check=full --read-inline-info=no \
		--errors-for-leak-kinds=definite,indirect --child-silent-after-fork=yes "$program" 2>&1) || code=$?
	if [ "$code" -eq 152 ]; then # SIGXCPU
		code=0 how+="cut after 10 s: "
		if grep -qE "$report" <<<"$said"; then code=99; fi
	fi
	# A test that fails is left in its middle, and what it held is lost: such a leak is no report.
	if [ "$code" -eq 99 ] && grep -qF '[  FAILED  ]' <<<"$said" && ! grep -qE "$report|^==[0-9]+== Process terminating" <<<"$said"; then code=1; fi
	printf '== %s%s (%s s): exit %s\n%s\n' "$how" "${program##*/}" "$SECONDS" "$code" "$said"
	if [ "$code" -ne 0 ] && [ "${how#alone}" = "$how" ]; then echo "$program" >>"$scratch/valgrind-failed"; fi
	return "$code"
}
valgrind_alone() {
	local program
	for program in "${@:2}"; do under_valgrind "alone, round $1 of 3: " "$program" || return 1; done
}

# All of them run under ASan, which sees all that valgrind does, but for what was never written.
lane_valgrind() {
	local programs
	have valgrind
	programs=$(unit_programs build)
	[ -n "$programs" ] || return 1
	programs=$(drawn_or_changed 8 '/test_(MODULES)$' <<<"$programs")
	export REPRIEVE_TEST_EFFORT=${REPRIEVE_TEST_EFFORT-small} REPRIEVE_HISTORIES=${REPRIEVE_HISTORIES-100}
	rm -f "$scratch/valgrind-failed"
	# shellcheck disable=SC2016 # expanded by the bash that xargs starts
	xargs -r -P 3 -I '{}' bash -c 'under_valgrind "" "$1"' valgrind "$PWD/{}" <<<"$programs" && return
	[ -f "$scratch/valgrind-failed" ] || return 1
	look_again valgrind_alone <"$scratch/valgrind-failed"
}

lane_shim() { tests/check_shim.sh build; }
lane_hardening() { tests/check_hardening.sh build; }
lane_packages() { tests/packages.sh --short build; }
lane_ci-files() {
	bash examples/install_packages.sh venv
	tests/check_ci.sh
}
lane_layering() { tests/check_layering.sh; }
lane_layering-self() { tests/check_layering.sh --self-test; }
lane_paths() { tests/check_paths.sh; }
lane_paths-self() { tests/check_paths.sh --self-test; }
lane_mutation-self() { tests/mutation/self_test.sh; }
lane_size() {
	have cloc
	tests/check_size.sh
}
lane_size-self() {
	have cloc
	tests/check_size.sh --self-test
}
lane_linkage() { tests/check_layering.sh --link build; }

lane_shellcheck() {
	have shellcheck
	sources '*.sh' | xargs shellcheck .ci/run supervisor/packaging/debian/prerm findings/*.sh
}

# Their form alone: they install packages, and what they say of them is tried by hand.
lane_findings() {
	tests/check_findings.sh --self-test
	tests/check_findings.sh
}

lane_manpage() {
	have mandoc
	mandoc -Tlint -W warning supervisor/man/*.[17]
}

# Another version sets the same style differently.
lane_format() {
	local tool
	for tool in clang-format-14 clang-format; do
		if "$tool" --version 2>/dev/null | grep -q 'version 14\.'; then
			sources '*.[ch]' | xargs "$tool" --dry-run -Werror
			return
		fi
	done
	# Debian 13 has no clang-format 14; PyPI has that very program.
	tool=build/clang-format/bin/clang-format
	if [ ! -x "$tool" ]; then
		bash examples/install_packages.sh venv
		if ! "$python" -m venv build/clang-format || ! build/clang-format/bin/pip -q install 'clang-format==14.*'; then
			echo "the sources are set with clang-format 14, which can be had neither from apt nor from PyPI"
			exit 77
		fi
	fi
	sources '*.[ch]' | xargs "$tool" --dry-run -Werror
}

# The analyzer follows a function through fewer states than it would by itself, in less than half the time; REPRIEVE_TEST_EFFORT=full: as many.
lane_tidy() {
	local bound=(--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=40000)
	have clang-tidy
	[ -s build/compile_commands.json ] || return 1
	if [ "${REPRIEVE_TEST_EFFORT-}" = full ]; then bound=(); fi
	sources '*.c' | grep -E '^(supervisor|storage|cloud|shim)/' |
		while read -r file; do
			grep -qF "/$file\"" build/compile_commands.json && echo "$file"
		done | drawn_or_changed 8 '/(MODULES)\.c$' | xargs -r -P 2 -n 4 clang-tidy -p build --quiet ${bound[@]+"${bound[@]}"}
}

# COMMAND starts pytest and takes options of its.
with_a_second_look() {
	local -r cache=$scratch/$lane.cache
	local -ar command=("$@")
	"$@" --basetemp "$scratch/$lane" --junitxml "$logs/$lane.xml" -o cache_dir="$cache" && return
	"$python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$cache/v/cache/lastfailed" | look_again pytest_alone
}
pytest_alone() {
	cp -r "$cache" "$cache.$1"
	"${command[@]}" -n 0 -rA --basetemp "$scratch/$lane.$1" --junitxml "$scratch/$lane.again.xml" -o cache_dir="$cache.$1" \
		--last-failed --last-failed-no-failures none || return 1
	grep -q "failures=\"0\" skipped=\"0\" tests=\"$(($# - 1))\"" "$scratch/$lane.again.xml"
}

pytest_here() { without_randomisation "$python" -m pytest -q -rsfE "$@"; }
run_pytest() { with_a_second_look pytest_here "$@"; }

# Most of their time these tests wait, so that many of them keep two cores no more than a third busy.
run_pytest_at_once() { run_pytest -n "$1" --dist load "${@:2}"; }

# Of what is marked long a share: LONG_SHARE.
lane_e2e() {
	LONG_SHARE=$(share 4)
	export LONG_SHARE
	run_pytest_at_once 8 tests/e2e --ignore tests/e2e/test_writers.py --ignore tests/e2e/test_watch.py \
		--ignore tests/e2e/test_idioms.py --ignore tests/e2e/test_property.py
}
lane_idioms() { run_pytest_at_once 6 tests/e2e/test_idioms.py tests/e2e/test_property.py; }
lane_notices() { run_pytest_at_once 6 tests/e2e/test_watch.py; }
# One worker: the rows run side by side within it.
lane_writers() { LONG_SHARE=$(share 4) run_pytest tests/e2e/test_writers.py; }
lane_faults() { REPRIEVE_KILLS=${REPRIEVE_KILLS:-25} run_pytest_at_once 4 tests/faults; }
# Each test waits most of its time for what it has started.
lane_differential() { E2E_SHARE=$(share 2) run_pytest_at_once 6 tests/differential/test_differential.py; }

# Also builds the program that needs no library but libc. The schemas of Kubernetes are in the servers' environment.
lane_containers() {
	if tests/servers/install.sh python; then python=$PWD/build/servers/python/bin/python; fi
	run_pytest_at_once 2 --dist loadfile tests/containers
}

# Slurm's own daemons, all of them on the loopback.
lane_slurm() {
	bash examples/install_packages.sh slurm
	run_pytest tests/slurm
}

# Grid Engine's, and OAR's, which Ubuntu 24.04 and Debian 13 may not have.
lane_sge() { with_daemons_of sge; }
lane_oar() { with_daemons_of oar; }
with_daemons_of() {
	if ! bash examples/install_packages.sh "$1"; then
		echo "the daemons of $1 cannot be installed here"
		exit 77
	fi
	run_pytest "tests/$1"
}

# The script brings what the servers and the clouds' own clients are made of.
lane_stores() {
	with_a_second_look tests/stores/run.sh --short --ignore tests/stores/test_s3_faults.py
}
lane_store-faults() {
	E2E_SHARE=$(share 2) with_a_second_look tests/stores/run.sh tests/stores/test_s3_faults.py
}

# Without what does not run our sanitized code: the shim is never sanitized, and the quickstart builds for itself; without what reads what
# is written (the manual, which e2e holds against the same texts); and what is killed at any instant is killed at few. Of the rest a share:
# e2e has run them all.
lane_e2e-asan() {
	export REPRIEVE=$build/asan/supervisor/reprieve REPRIEVE_SMALL=1 REPRIEVE_GANG_KILLS=${REPRIEVE_GANG_KILLS-3}
	E2E_SHARE=$(share 8)
	export E2E_SHARE
	run_pytest_at_once 6 tests/e2e tests/faults/test_damage.py tests/faults/test_refusals.py \
		--ignore tests/e2e/test_shim.py --ignore tests/e2e/test_quickstart.py --ignore tests/e2e/test_writers.py \
		--ignore tests/e2e/test_manual.py --ignore tests/e2e/test_watch.py --ignore tests/e2e/test_idioms.py --ignore tests/e2e/test_property.py
}

# A few seconds each; for longer: tests/fuzz/run.sh.
lane_fuzz() {
	local targets
	targets=$(tests/fuzz/run.sh --list | drawn 4)
	# shellcheck disable=SC2086 # words
	tests/fuzz/run.sh --short $targets
}

lane_bench() { bash tests/bench/run.sh --smoke build/supervisor/reprieve; }

tree_files() {
	find . -name .git -prune -o -path './build*' -prune -o -print | sort
}

# The few whose packages are small (some 80 MB); the others, and the table of all: tests/frameworks/run.sh.
lane_frameworks() {
	local code=0
	tests/frameworks/run.sh --quick || code=$?
	if [ "$code" -ne 0 ] && grep -qE '^0 passed, 0 failed' "$logs/frameworks.log"; then
		echo "nothing could be installed"
		exit 77
	fi
	return "$code"
}

# Simulation codes of Debian and PyPI (some 180 MB), each as small as it gets.
lane_codes() { run_pytest_at_once 2 tests/differential/test_codes.py; }

lane_tree() {
	diff "$scratch/tree-before" <(tree_files) && return
	echo "files came or went in the source tree while the tests ran"
	return 1
}

# --- counting: each prints "passed failed skipped" of one lane's test cases, and the reasons of skips go to LANE.skips ---

# ctest -V of cmocka programs. One that ends without a summary (crash, time-out) counts as one failure. After a second look none has failed.
count_unit() {
	sed -nE 's/^[0-9]+: \[  SKIPPED \] (test_.*)/\1 skipped itself/p' "$logs/$1.log" | sort -u >"$logs/$1.skips"
	awk -v again="$([ -f "$logs/$1.again" ] && echo 1)" '/^== alone, round/ { exit }
		/^[0-9]+: \[  PASSED  \] [0-9]+ test/ { passed += $5 }
		/^[0-9]+: \[  SKIPPED \] [0-9]+ test/ { skipped += $5 }
		/^[0-9]+: \[  FAILED  \] [0-9]+ test/ { failed += $5 }
		/^ *[0-9]+\/[0-9]+ Test +#.*(\*\*\*Failed|\*\*\*Timeout|\*\*\*Exception|\*\*\*Not Run|Child aborted)/ { programs++ }
		END {
			if (programs > failed) failed = programs
			print passed + (again ? failed : 0), again ? 0 : failed + 0, skipped + 0
		}' "$logs/$1.log"
}

count_pytest() {
	sed -nE 's/^SKIPPED \[([0-9]+)\] ([^ ]+) (.*)/\2 \3 (\1)/p' "$logs/$1.log" >"$logs/$1.skips"
	[ -s "$logs/$1.xml" ] || {
		echo 0 1 0
		return
	}
	"$python" - "$logs/$1.xml" "$logs/$1.again" <<'PYTHON'
import os, sys, xml.etree.ElementTree as tree
total = failed = skipped = 0
for suite in tree.parse(sys.argv[1]).iter("testsuite"):
    total += int(suite.get("tests"))
    failed += int(suite.get("failures")) + int(suite.get("errors"))
    skipped += int(suite.get("skipped"))
if os.path.exists(sys.argv[2]):  # the second look
    failed -= len(open(sys.argv[2]).readlines())
print(max(total - failed - skipped, 0), failed, skipped)
PYTHON
}

count_lane() {
	case $1 in
	unit*) count_unit "$1" ;;
	e2e* | idioms | writers | notices | containers | slurm | sge | oar | faults | codes | store*) count_pytest "$1" ;;
	frameworks | fuzz)
		sed -n 's/^skipped  //p' "$logs/$1.log" >"$logs/$1.skips"
		sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$logs/$1.log" | tail -n 1 | grep . || echo 0 1 0
		;;
	valgrind) awk -v again="$(grep -c . "$logs/$1.again" 2>/dev/null)" '/^== test_.*: exit 0$/ { passed++ }
		/^== test_.*: exit [1-9]/ { failed++ } END { print passed + again, failed - again, 0 }' "$logs/$1.log" ;;
	*) echo 1 0 0 ;;
	esac
}

# --- running them, one at each place, each as soon as what it needs has passed ---

declare -A needs place minutes state began name_of place_of processor
order=()
while IFS='|' read -r lane need where minute; do
	lane=${lane// /}
	[ -n "$lane" ] || continue
	order+=("$lane")
	needs[$lane]=${need// /} place[$lane]=${where// /} minutes[$lane]=${minute// /}
done <<<"$table"

if [ "${1-}" = --list ]; then
	printf '%s\n' "${order[@]}"
	exit 0
fi

want() {
	[ -n "${state[$1]-}" ] && return
	state[$1]=waiting
	# Asking for one lane is no reason to install packages.
	if [ -n "${needs[$1]}" ] && [ "${needs[$1]}" != install ]; then want "${needs[$1]}"; fi
}

if [ "${1-}" = --all ]; then
	export REPRIEVE_TEST_DRAW=all
	shift
fi
if [ $# -eq 0 ]; then
	for lane in "${order[@]}"; do
		# Their daemons take minutes for each case.
		case ${REPRIEVE_TEST_DRAW-}:$lane in
		all:*) ;;
		*:sge | *:oar) continue ;;
		esac
		state[$lane]=waiting
	done
else
	for lane in "$@"; do
		[ -n "${minutes[$lane]-}" ] || {
			echo "no such lane: $lane (see tests/run.sh --list)" >&2
			exit 64
		}
		want "$lane"
	done
fi

mkdir -p "$logs"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-tests.XXXXXX") || exit 70
trap 'rm -rf "$scratch"' EXIT
tree_files >"$scratch/tree-before"
export scratch build logs python
readonly named=("$@")
total_passed=0 total_failed=0 total_skipped=0 lanes_failed=() skips=() agains=() took=() running=0

finish() {
	local lane=$1 code=$2 seconds=$((SECONDS - ${began[$1]})) word=ok passed failed skipped
	processor[$lane]=$(read_processor_seconds "$lane")
	took+=("$seconds ${processor[$lane]} $lane")
	rm -f "$logs/$lane.skips"
	if [ "$code" -eq 77 ]; then
		state[$lane]=skipped word=skip
		passed=0 failed=0 skipped=1
		skips+=("$lane: $(tail -n 1 "$logs/$lane.log")")
	else
		read -r passed failed skipped < <(count_lane "$lane")
		[ "$code" -eq 124 ] || [ "$code" -eq 137 ] && echo "hung: ended after ${minutes[$lane]} min" >>"$logs/$lane.log"
		# A lane that failed for a reason that is no test case is itself one.
		if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1 && [ "$passed" -eq 1 ] && passed=0; fi
		state[$lane]=passed
		[ "$failed" -eq 0 ] || state[$lane]=failed word=FAIL
		while read -r line; do skips+=("$lane: $line"); done < <(cat "$logs/$lane.skips" 2>/dev/null)
		while read -r line; do agains+=("$lane: $line"); done < <(cat "$logs/$lane.again" 2>/dev/null)
	fi
	total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed)) total_skipped=$((total_skipped + skipped))
	echo "$word $lane ($seconds s, CPU ${processor[$lane]} s)$([ $((passed + failed + skipped)) -gt 1 ] && echo ": $passed passed, $failed failed, $skipped skipped")"
	if [ "$word" = FAIL ]; then
		lanes_failed+=("$lane")
		# Which case, and what it says, ahead of the rest.
		{
			grep -E '^(FAILED|ERROR|E   |== .*: exit [1-9])' "$logs/$lane.log" | cut -c 1-300 | head -n 12
			tail -n 60 "$logs/$lane.log"
		} | sed 's/^/    /'
	fi
}

start() {
	local lane=$1 politely
	began[$lane]=$SECONDS
	state[$lane]=running
	export lane
	rm -f "$logs/$lane.again"
	if [ "${place[$lane]}" = computes ]; then politely=(nice -n 5); else politely=(); fi
	export -f have sources with_daemons_of configure configure_and_build share drawn changed drawn_or_changed unit_programs racing_programs \
		racing_drawn sanitized without_randomisation look_again \
		run_ctest ctest_in ctest_alone with_a_second_look pytest_alone pytest_here run_pytest run_pytest_at_once tree_files \
		under_valgrind valgrind_alone "lane_$lane"
	# shellcheck disable=SC2016 # expanded by the bash started here
	timeout -k 10 "${minutes[$lane]}m" ${politely[@]+"${politely[@]}"} bash -c 'set -euo pipefail
		trap "times >$scratch/$lane.times" EXIT
		"lane_$lane"' >"$logs/$lane.log" 2>&1 &
	name_of[$!]=$lane place_of[$2]=$lane
	running=$((running + 1))
}

# All that the lane's processes have used, but for those that it left behind.
read_processor_seconds() {
	awk '{ for (i = 1; i <= NF; i++) { split($i, part, "[ms]"); sum += 60 * part[1] + part[2] } } END { printf "%d", sum + 0.5 }' \
		"$scratch/$1.times" 2>/dev/null || echo 0
}

# The next lane of a kind that may start now; empty if none may.
next_lane() {
	local lane need
	for lane in "${order[@]}"; do
		if [ "${state[$lane]-}" != waiting ] || [ "${place[$lane]}" != "$1" ]; then continue; fi
		# Looks for what the others have left behind, so it comes last.
		if [ "$lane" = tree ] && ! nothing_else_is_left; then continue; fi
		need=${needs[$lane]}
		if [ -z "$need" ] || [ "${state[$need]-passed}" = passed ]; then
			echo "$lane"
			return
		fi
	done
	return 1
}

is_waiting() {
	local lane
	for lane in "${order[@]}"; do
		[ "${state[$lane]-}" = waiting ] && [ "${place[$lane]}" = "$1" ] && [ "$lane" != tree ] && return
	done
	return 1
}

# A place takes lanes of its own kind, and helps the others out once there are none.
next_lane_at() {
	case $1 in
	computes) next_lane computes || { ! is_waiting computes && { next_lane jobs || next_lane waits; }; } ;;
	jobs) next_lane jobs || next_lane waits || { ! is_waiting jobs && ! is_waiting waits && next_lane computes; } ;;
	waits | waits-too) next_lane waits || next_lane jobs ;;
	esac
}

nothing_else_is_left() {
	local lane
	[ "$running" -eq 0 ] || return 1
	for lane in "${order[@]}"; do
		[ "$lane" != tree ] && [ "${state[$lane]-}" = waiting ] && return 1
	done
	return 0
}

skip_what_cannot_run() {
	local lane need
	for lane in "${order[@]}"; do
		need=${needs[$lane]}
		if [ "${state[$lane]-}" != waiting ] || [ -z "$need" ]; then continue; fi
		case ${state[$need]-passed} in
		failed | skipped)
			state[$lane]=skipped
			total_skipped=$((total_skipped + 1))
			skips+=("$lane: needs $need")
			echo "skip $lane (needs $need)"
			;;
		esac
	done
}

while :; do
	skip_what_cannot_run
	for at in computes jobs waits waits-too; do
		if [ -z "${place_of[$at]-}" ] && lane=$(next_lane_at "$at"); then start "$lane" "$at"; fi
	done
	[ "$running" -gt 0 ] || break
	wait -n -p ended
	code=$?
	running=$((running - 1))
	for at in computes jobs waits waits-too; do
		if [ "${place_of[$at]-}" = "${name_of[$ended]}" ]; then place_of[$at]=; fi
	done
	finish "${name_of[$ended]}" "$code"
done

echo
for line in ${skips[@]+"${skips[@]}"}; do echo "skipped  $line"; done
for line in ${agains[@]+"${agains[@]}"}; do echo "AGAIN    $line: failed in the crowd, passed three times alone"; done
for lane in ${lanes_failed[@]+"${lanes_failed[@]}"}; do echo "FAILED   $lane: see build/test-logs/$lane.log"; done
printf '%s\n' "${took[@]}" | sort -k 2,2nr | awk '{ printf "%6d s  CPU %6d s  %s\n", $1, $2, $3 }
	{ sum += $2 } END { printf "          CPU %6d s  together\n", sum }'
echo "${SECONDS} seconds; logs in build/test-logs/"
[ ${#agains[@]} -eq 0 ] || echo "${#agains[@]} of the passed only alone"
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" -eq 0 ] || exit 1
for lane in ${named[@]+"${named[@]}"}; do [ "${state[$lane]}" = passed ] || exit 77; done
