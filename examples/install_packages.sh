#!/bin/bash
# Installs what is missing of the Debian or Ubuntu packages that Reprieve needs, and nothing else. Nothing missing: needs no rights.
#
#	install_packages.sh build|static|run|test|bench|slurm|sge|oar|radosgw|glusterfs|sshfs|s3fs|rclone|venv|node|CODE...
#
#	build   to compile and pack it  run     to run the example
#	static  for -DREPRIEVE_STATIC=ON and for the wheel, beside build
#	test    for tests/run.sh        bench   what tests/bench compares with
#	slurm, sge, oar  for tests/slurm, tests/sge, tests/oar
#	radosgw, glusterfs, sshfs, s3fs, rclone, venv, node  what tests/servers is made of
#	gromacs, lammps, mrbayes, iqtree, john  the codes of tests/differential/test_codes.py
set -euo pipefail

readonly build=(cmake ninja-build gcc pkg-config libc6-dev libcurl4-openssl-dev libssl-dev libarchive-dev liblz4-dev libxxhash-dev libzstd-dev
	libinotifytools0-dev libjansson-dev libexpat1-dev libmicrohttpd-dev libsqlite3-dev
	file dpkg-dev)
readonly static=(libnghttp2-dev libnghttp3-dev libidn2-dev libunistring-dev libpsl-dev libbrotli-dev zlib1g-dev
	nettle-dev libacl1-dev liblzma-dev libbz2-dev libxml2-dev)
readonly run=(python3 python3-numpy python3-sklearn)
readonly test=(ccache clang libclang-rt-dev clang-tidy clang-format cloc shellcheck valgrind libcmocka-dev python3-pytest python3-pytest-xdist git lz4 tar strace util-linux procps
	iproute2 bindfs tini openmpi-bin musl-tools libjemalloc2 libgoogle-perftools-dev
	zsh fish mandoc
	python3-yaml dumb-init catatonit crun podman bubblewrap charliecloud parallel mpich mmdebstrap lintian golang-github-containers-common)
readonly radosgw=(ceph-mon ceph-osd ceph-common radosgw)
readonly glusterfs=(glusterfs-client)
readonly sshfs=(sshfs openssh-sftp-server)
readonly s3fs=(s3fs)
readonly rclone=(rclone)
readonly slurm=(slurmctld slurmd slurm-client munge)
readonly sge=(gridengine-master gridengine-exec gridengine-client)
readonly oar=(oar-server oar-server-pgsql oar-node oar-user oar-user-pgsql postgresql openssh-server)
readonly venv=(python3-venv)
readonly node=(nodejs npm)
readonly bench=(restic borgbackup lz4 tar rclone)

fail() {
	echo "install_packages: $*" >&2
	exit 1
}

is_installed() {
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

as_root() {
	if [[ $(id -u) == 0 ]]; then
		"$@"
	else
		sudo "$@"
	fi
}

install() {
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -o DPkg::Lock::Timeout=120 install --no-install-recommends -y "$@" >"$log" 2>&1
}

[[ $# -gt 0 ]] || fail "usage: install_packages.sh build|static|run|test|bench|slurm|sge|oar|radosgw|glusterfs|sshfs|s3fs|rclone|venv|node|CODE..."
wanted=()
for group; do
	case $group in
	build) wanted+=("${build[@]}") ;;
	static) wanted+=("${build[@]}" "${static[@]}") ;;
	run) wanted+=("${run[@]}") ;;
	test) wanted+=("${build[@]}" "${static[@]}" "${run[@]}" "${test[@]}") ;;
	bench) wanted+=("${bench[@]}") ;;
	gromacs | lammps | mrbayes | iqtree | john) wanted+=("$group") ;;
	slurm) wanted+=("${slurm[@]}") ;;
	sge) wanted+=("${sge[@]}") ;;
	oar) wanted+=("${oar[@]}") ;;
	radosgw) wanted+=("${radosgw[@]}") ;;
	glusterfs) wanted+=("${glusterfs[@]}") ;;
	sshfs) wanted+=("${sshfs[@]}") ;;
	s3fs) wanted+=("${s3fs[@]}") ;;
	rclone) wanted+=("${rclone[@]}") ;;
	venv) wanted+=("${venv[@]}") ;;
	node) wanted+=("${node[@]}") ;;
	*) fail "unknown group '$group': build, static, run, test, bench, slurm, sge, oar, radosgw, glusterfs, sshfs, s3fs, rclone, venv, node or a code" ;;
	esac
done

command -v apt-get >/dev/null ||
	fail "this is neither Debian nor Ubuntu (no apt-get): install the equivalents of ${wanted[*]}"
missing=()
for package in "${wanted[@]}"; do
	is_installed "$package" || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

[[ $(id -u) == 0 ]] || command -v sudo >/dev/null ||
	fail "needs root or sudo to install ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing ${missing[*]}"
# Without package lists, or with lists older than the mirror, the first try fails: then they are fetched, once.
if ! install "${missing[@]}"; then
	as_root apt-get -qq -o DPkg::Lock::Timeout=120 update >"$log" 2>&1 || {
		tail -n 5 "$log" >&2
		fail "apt-get update failed"
	}
	install "${missing[@]}" || {
		tail -n 10 "$log" >&2
		fail "could not install ${missing[*]}"
	}
fi
