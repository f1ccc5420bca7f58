#!/bin/bash
# Runs as root in namespaces of its own (cluster.py): PostgreSQL, sshd and OAR's server, on a loopback that nobody else sees. $1: a directory.
set -euo pipefail
place=$1
pg=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
exec </dev/null
ip link set lo up
# The user's profile is none of ours: OAR starts a job as a login does.
mount -t tmpfs none "$HOME"
cp -a /etc/oar "$place/etc"
cp -a /var/lib/oar "$place/lib"
mount --bind "$place/etc" /etc/oar
mount --bind "$place/lib" /var/lib/oar
sed -i -e 's/^DB_BASE_PASSWD=.*/DB_BASE_PASSWD="oar"/' -e 's/^DB_BASE_PASSWD_RO=.*/DB_BASE_PASSWD_RO="oar_ro"/' \
	-e "s|^LOG_FILE=.*|LOG_FILE=\"$place/lib/oar.log\"|" -e 's/^SCHEDULER_JOB_SECURITY_TIME=.*/SCHEDULER_JOB_SECURITY_TIME="1"/' \
	-e '/^JOB_RESOURCE_MANAGER_PROPERTY_DB_FIELD/d' /etc/oar/oar.conf
mkdir "$place/pg" "$place/socket"
chown postgres "$place/pg" "$place/socket"
as_postgres() { (cd / && setpriv --reuid postgres --regid postgres --clear-groups "$@"); }
as_postgres "$pg/initdb" -D "$place/pg" -A trust >/dev/null
as_postgres "$pg/pg_ctl" -D "$place/pg" -o "-k $place/socket -c fsync=off" -w -l "$place/pg/log" start >/dev/null
export PGHOST=127.0.0.1 PGUSER=postgres
psql -q -c "create role oar login password 'oar'" -c "create role oar_ro login password 'oar_ro'" -c "create database oar owner oar"
for part in structure default_admission_rules; do PGUSER=oar psql -q oar -f "/usr/lib/oar/database/pg_$part.sql" >/dev/null; done
PGUSER=oar psql -q oar -f /usr/lib/oar/database/default_data.sql >/dev/null
psql -q oar -c "grant select on all tables in schema public to oar_ro"
# Root submits here, which OAR forbids.
psql -q oar -c "delete from admission_rules where rule like '%Prevent users oar and root%'"
mkdir -p /run/sshd
setsid /usr/sbin/sshd -D -f /etc/oar/sshd_config -E "$place/sshd.log" &
setsid /usr/sbin/oar-server >"$place/server.out" 2>&1 &
for _ in 1 2 3 4; do oarnodesetting -a -h "$(hostname)" >/dev/null; done
