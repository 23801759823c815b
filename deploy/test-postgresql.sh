#!/bin/sh
# Run the tests of the service on a PostgreSQL of their own, which is deleted afterwards.
# Needs Debian's package postgresql; tests/service runs on SQLite alone without it.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
if [ -z "$bin" ]; then
  echo "test-postgresql: no PostgreSQL here: apt-get install postgresql" >&2
  exit 1
fi
folder=$(mktemp -d)
as() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
if [ "$(id -u)" = 0 ]; then chown postgres "$folder"; fi
stop() {
  as "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap stop EXIT
cd "$folder"
as "$bin/initdb" -D "$folder/data" -A trust -U tester >/dev/null
as "$bin/pg_ctl" -D "$folder/data" -w -l "$folder/log" \
  -o "-c listen_addresses='' -k $folder -c fsync=off" start >/dev/null
cd - >/dev/null
as "$bin/createdb" -h "$folder" -U tester service
chmod 755 "$folder"
DIALOGIST_TEST_POSTGRESQL="postgresql://tester@/service?host=$folder" \
  "${PYTHON:-python3}" -m pytest tests/service "$@"
