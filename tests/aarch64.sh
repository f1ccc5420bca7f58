#!/bin/bash
# The program and its library for aarch64, on any machine: cross-built in a Debian 12 of its own and run under qemu-user.
#	aarch64.sh [OPTION OF mmdebstrap...]
# Looks at the binaries as the lanes shim, hardening and linkage do, runs the unit tests, and in a Debian of that machine's own packages a
# the end-to-end tests of the run and those of the shim, a program of musl's among them. Takes half an hour or more. As root (a file
# system of another machine is entered); needs mmdebstrap, git, a mirror, and what as_aarch64.sh needs.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
scratch=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-aarch64.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
git clone -q . "$scratch/reprieve"
command -v qemu-aarch64-static >/dev/null || {
	echo "aarch64: qemu-user-static is not installed" >&2
	exit 1
}

libraries=(libcurl4-openssl-dev libssl-dev libarchive-dev liblz4-dev libxxhash-dev libzstd-dev libinotifytools0-dev libjansson-dev
	libexpat1-dev libmicrohttpd-dev libsqlite3-dev libnghttp2-dev libidn2-dev libunistring-dev libpsl-dev libbrotli-dev zlib1g-dev
	nettle-dev libacl1-dev liblzma-dev libbz2-dev libxml2-dev libcmocka-dev musl musl-dev)
packages=crossbuild-essential-arm64,cmake,ninja-build,pkg-config,git,python3,procps,qemu-user-static
for package in "${libraries[@]}"; do packages+=,$package:arm64; done

# The slow ones among the unit tests hash for minutes under qemu; they have nothing of a machine's own. Five others need what qemu-user
# lacks: vfork (program), subreapers (child), the state of a program in /proc (proc_file, rank_selection), memory that a fork wipes
# (progress_page). job_log is slow as well.
cat >"$scratch/build" <<'END'
set -eux
cd /reprieve
cmake -G Ninja -S . -B build -D CMAKE_TOOLCHAIN_FILE=supervisor/packaging/aarch64.cmake -D CMAKE_BUILD_TYPE=RelWithDebInfo \
	-D REPRIEVE_STATIC=ON -D REPRIEVE_TESTS=ON -D REPRIEVE_WERROR=ON
ninja -C build
tests/check_static.sh build
tests/check_shim.sh build
mkdir /tools
for tool in objdump readelf nm; do ln -s "/usr/bin/aarch64-linux-gnu-$tool" "/tools/$tool"; done
PATH=/tools:$PATH tests/check_hardening.sh build
aarch64-linux-gnu-gcc -specs /usr/lib/aarch64-linux-musl/musl-gcc.specs -o build/musl /musl.c
REPRIEVE_HISTORIES=20000 REPRIEVE_TEST_EFFORT=small ctest --test-dir build -j 2 --timeout 300 --output-on-failure \
	-E '^(program|child|proc_file|progress_page|rank_selection|job_log)$' \
	-LE '^(snapshots|storage|transfer|s3|gcs|azure|aws|backend|http)$'
# By the processor's own instruction.
ctest --test-dir build --output-on-failure -R '^crc32c$'
END
cat >"$scratch/musl.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int main(void)
{
	FILE *stream, *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "libreprieve-shim.so") != NULL;
	mkdir("/tmp/musl", 0700);
	stream = fopen("/tmp/musl/step-1.bin.tmp", "w");
	if (!stream || fputs("content", stream) < 0 || fclose(stream) != 0)
		return 1;
	if (rename("/tmp/musl/step-1.bin.tmp", "/tmp/musl/step-1.bin") != 0)
		return 2;
	return found ? 0 : 3;
}
END
mmdebstrap --variant=minbase --architectures=amd64,arm64 --include="$packages" --format=null \
	--customize-hook="copy-in $scratch/reprieve $scratch/build $scratch/musl.c /" \
	--customize-hook="chroot \"\$1\" bash /build" \
	--customize-hook="sync-out /reprieve $scratch/reprieve" \
	"$@" bookworm /dev/null

# Its packages are unpacked and no more, so that nothing of that machine has to run for it.
system=$scratch/system
mmdebstrap --mode=root --variant=extract --architectures=arm64 --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
	--include=libc6,bash,dash,coreutils,findutils,grep,sed,base-files,python3,musl \
	"$@" bookworm "$system"
find "$scratch/reprieve/build" -name '*.o' -delete
mv "$scratch/reprieve" "$system/reprieve"

cp tests/preempt.sh tests/e2e/saver.py "$system"
cat >"$system/check" <<'END'
set -eux
[ "$(uname -m)" = aarch64 ]
build=/reprieve/build
"$build/supervisor/reprieve" --version
sh /preempt.sh "$build/supervisor/reprieve"
# The program of musl's is strict about its library: it ends with 3 without it.
mkdir /tmp/musl
"$build/supervisor/reprieve" run --strict --shim on --store file:///tmp/store --job musl --checkpoint-dir /tmp/musl -- "$build/musl"
"$build/supervisor/reprieve" list --store file:///tmp/store --job musl | grep -E '^\* 000001-000001 +good'
END
# shellcheck disable=SC2016 # expanded by the bash that this starts
tests/as_aarch64.sh bash -euc '
	system=$1
	mount -t proc proc "$system/proc"
	mount --rbind /dev "$system/dev"
	mount --rbind /sys "$system/sys"
	exec chroot "$system" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 bash /check
' aarch64 "$system"
echo "aarch64: builds, and its tests pass under qemu-user"
