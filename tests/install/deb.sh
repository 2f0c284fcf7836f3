#!/bin/bash
# The life of the Debian package, in the bare root: installed, started as its user, used,
# upgraded, removed, purged.
set -euo pipefail

unit=/lib/systemd/system/prowess.service
groups=(/sys/fs/cgroup{,/memory,/pids,/cpu}/system.slice/prowess.service)
fail() { echo "error: $1" >&2; exit 1; }

remove_groups() {
    for group in "${groups[@]}"; do
        [ -d "$group" ] || continue
        find "$group" -depth -type d -exec rmdir {} + || true
        rmdir --ignore-fail-on-non-empty "${group%/*}" || true
    done
}

start() {
    remove_groups
    /usr/bin/python3 /install/run_unit.py "$unit" /tmp/serve.log /tmp/serve.pid \
        PROWESS_LISTEN=127.0.0.1:0
    PROWESS_URL=$(/usr/bin/python3 -c "import sys; sys.path.insert(0, '/install')
from ask_server import address; print(address('/tmp/serve.log'))")
    export PROWESS_URL
}

stop() {
    pid=$(cat /tmp/serve.pid)
    kill -TERM "$pid"
    while [ -d "/proc/$pid" ] && ! grep -qs '^State:.Z' "/proc/$pid/status"; do sleep 0.05; done
    remove_groups
}
trap 'cat /tmp/serve.log 2>/dev/null; stop 2>/dev/null || true' ERR

echo "== install"
apt-get install --yes -qq /artefacts/prowess_*-1_amd64.deb
/install/smoke.sh /usr/bin/prowess

echo "== serve as the service's user"
cp /install/service-script.toml /etc/prowess/script.toml
cat >>/etc/prowess/prowess.toml <<'TEXT'

[providers.stage]
kind = "scripted"
script = "script.toml"

[[models]]
name = "scripted"
provider = "stage"
TEXT
start
owner=$(stat -c %U "/proc/$(cat /tmp/serve.pid)")
[ "$owner" = prowess ] || fail "the server runs as $owner"
cd /tmp
prowess skill new greeter --tool -d "Greets people by name. Use when someone is to be greeted."
prowess skill push greeter
/usr/bin/python3 /install/ask_run.py "$PROWESS_URL"
[ "$(stat -c '%U %a' /var/lib/prowess)" = "prowess 700" ] || fail "/var/lib/prowess is open"

echo "== reload"
sed -i 's/^name = "scripted"$/name = "reloaded"/' /etc/prowess/prowess.toml
MAINPID=$(cat /tmp/serve.pid) sh -c "$(cat /tmp/serve.pid.reload)"
for _ in $(seq 200); do
    grep -q "configuration reloaded" /tmp/serve.log && break
    sleep 0.05
done
grep -q "configuration reloaded" /tmp/serve.log || fail "the configuration was not read again"
sed -i 's/^name = "reloaded"$/name = "scripted"/' /etc/prowess/prowess.toml
stop

echo "== upgrade"
apt-get install --yes -qq /artefacts/second/prowess_*-2_amd64.deb
dpkg-query --show --showformat '${Version}\n' prowess | grep -e '-2$'
grep -q 'name = "scripted"' /etc/prowess/prowess.toml || fail "the configuration is lost"
start
/usr/bin/python3 /install/ask_run.py "$PROWESS_URL"
stop

echo "== remove"
apt-get remove --yes -qq prowess
[ ! -e /usr/bin/prowess ] || fail "the binary is still there"
[ -e /etc/prowess/prowess.toml ] || fail "the configuration is gone before purge"
[ -e /var/lib/prowess/prowess.db ] || fail "the data are gone before purge"

echo "== purge"
apt-get purge --yes -qq prowess
for path in /etc/prowess /var/lib/prowess{,-worker} /usr/libexec/prowess /usr/share/prowess; do
    [ ! -e "$path" ] || fail "$path is left behind"
done
echo "== all of it works"
