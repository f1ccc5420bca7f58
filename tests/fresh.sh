#!/bin/bash
# README's lines to install, on a fresh machine: makes a bare root file system, clones the commit that is checked out into it,
# runs these lines as they stand, and then the program that they installed. Nothing of it is left behind.
#	fresh.sh [--tests] RELEASE [OPTION OF mmdebstrap...]
# With --tests it goes on: a build with warnings as errors, the unit tests, the Debian package, and the static link.
# RELEASE is bookworm, trixie or noble. For noble mmdebstrap needs the key of Ubuntu's archive, if need be by --keyring=FILE.
# As root, or as a user whom mmdebstrap lets have a user namespace. Needs mmdebstrap, git, and a mirror.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

tests=
if [ "${1-}" = --tests ]; then
	tests=1
	shift
fi
release=${1:?usage: fresh.sh [--tests] RELEASE [OPTION OF mmdebstrap...]}
shift
components=main
# Ninja and libinotifytools are there.
if [ "$release" = noble ]; then components=main,universe; fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-fresh.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
# mmdebstrap's own user has to read it.
chmod 755 "$scratch"
git clone -q . "$scratch/reprieve"
# shellcheck disable=SC2016 # the quotes of Markdown, not of the shell
sed -n '/^```sh build$/,/^```$/{/^```/!p}' README.md >"$scratch/lines"
[ -s "$scratch/lines" ] || {
	echo "fresh: README has no block \`sh build\`" >&2
	exit 1
}

cat >"$scratch/check" <<'END'
cd /reprieve
sh -ex /lines
cd /
set -x
reprieve --version
reprieve doctor
[ "$(reprieve run -- sh -c 'echo hi')" = hi ]
END
# As the lanes do, without what they need beside a compiler.
if [ -n "$tests" ]; then
	cat >>"$scratch/check" <<'END'
cd /reprieve
examples/install_packages.sh build static run
apt-get -qq install --no-install-recommends -y libcmocka-dev util-linux procps strace lz4 git >/dev/null
cmake -G Ninja -S . -B build/tests -D CMAKE_BUILD_TYPE=RelWithDebInfo -D REPRIEVE_WERROR=ON -D REPRIEVE_TESTS=ON
ninja -C build/tests
ctest --test-dir build/tests -j 2 --timeout 240 --output-on-failure
tests/check_shim.sh build/tests
tests/check_hardening.sh build/tests
tests/packages.sh --short build/tests
cmake -G Ninja -S . -B build/static -D REPRIEVE_WERROR=ON -D REPRIEVE_TESTS=OFF -D REPRIEVE_STATIC=ON
ninja -C build/static
tests/check_static.sh build/static
tests/check_hardening.sh build/static
tests/packages.sh --short build/static
END
fi

# A machine that has just been made has no package lists. mmdebstrap mounts what has to be mounted, and removes it all.
# shellcheck disable=SC2016 # expanded by the shells that mmdebstrap starts
mmdebstrap --variant=minbase --include=apt --components="$components" --format=null \
	--customize-hook='rm -r "$1"/var/lib/apt/lists' \
	--customize-hook="copy-in $scratch/reprieve $scratch/lines $scratch/check /" \
	--customize-hook='chroot "$1" sh -e /check' \
	"$@" "$release" /dev/null
echo "$release: README's lines build and install it, and it runs"
