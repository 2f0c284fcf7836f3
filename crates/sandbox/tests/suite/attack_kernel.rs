//! Attacks from inside on what the kernel does for all programs of the host: loading modules,
//! writing files out, and parts of it that few programs need.
#![cfg(target_arch = "x86_64")]

use crate::attacks::attack;
use crate::support::{TestHost, everyone, stderr, stdout};
use serde_json::json;

/// For a combination that it does not have, the kernel starts `modprobe` on the host, twice for
/// each call, whoever asks. DCCP is one of those that need no protocol.
#[test]
fn no_combination_of_kind_and_protocol_makes_the_host_look_for_a_module() {
    attack(
        "
asked = []
for family in (2, 10, 2 | 1 << 32):
    other = 1 if family == 10 else 58
    for kind, protocol in (
        (6, 0), (5, 0), (4, 0), (10, 0), (0, 0), (6 | 0o2000000, 0), (1, 17), (1, 1), (1, 58),
        (2, 6), (2, 132), (2, other), (3, 0), (3, 1), (5, 132), (6, 33),
    ):
        if not denied(41, family, kind, protocol):
            asked.append((family, kind, protocol))
return asked",
    );
}

/// The kernel makes both sockets before it finds that there are no such pairs.
#[test]
fn pairs_of_sockets_load_no_modules_of_the_host() {
    attack(
        "
asked = []
pair = ctypes.create_string_buffer(8)
for family in (2, 10, 16, 17, 38, 40, 2 | 1 << 32):
    for kind, protocol in ((1, 0), (2, 0), (1, 132), (5, 132), (6, 33), (6, 0), (2, 136)):
        if not denied(53, family, kind, protocol, pair):
            asked.append((family, kind, protocol))
return asked",
    );
}

#[test]
fn options_that_reach_wide_parts_of_the_kernel_cannot_be_set() {
    attack(
        "
taken = []
value = ctypes.create_string_buffer(b'tls', 64)
for family in (socket.AF_INET, socket.AF_INET6):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        one = socket.socket(family, kind)
        # Signatures, repair, TLS, delay, authentication of TCP; packets in UDP; IPsec, routers and
        # firewalls of IPv4; labels of flows and IPsec of IPv6.
        for level, option in (
            (6, 14), (6, 19), (6, 31), (6, 32), (6, 37), (6, 38), (17, 100), (0, 3), (0, 16),
            (0, 17), (0, 64), (0, 96), (0, 128), (0, 200), (41, 32), (41, 34), (41, 35), (41, 64),
            (41, 200), (282, 1),
        ):
            for length in (4, 32):
                if not denied(54, one.fileno(), level, option, value, length):
                    taken.append((family, kind, level, option))
return taken",
    );
}

/// Proven with a descriptor that is not open: whoever reached the kernel would be told.
#[test]
fn files_of_the_host_are_not_written_out_or_forgotten() {
    attack(
        "
reached = []
for call in (74, 75, 306, 277, 221):
    try:
        syscall(call, 999, 0, 0, 4)
    except OSError as error:
        reached.append((call, error.errno))
return reached",
    );
}

#[test]
fn programs_that_write_their_files_out_go_on() {
    let program = "import os, sqlite3
with open('/mnt/data/a', 'w') as file:
    file.write('kept')
    file.flush()
    os.fsync(file.fileno())
    os.fdatasync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
os.sync()
database = sqlite3.connect('/mnt/data/b.db')
database.execute('pragma synchronous = full')
database.execute('create table t (a)')
database.execute('insert into t values (7)')
database.commit()
print(open('/mnt/data/a').read(), database.execute('select a from t').fetchone())";
    for who in everyone() {
        let report = TestHost::new(who).one(json!({ "python": program }));
        assert_eq!(
            stdout(&report),
            "kept (7,)\n",
            "{who:?} {}",
            stderr(&report)
        );
    }
}

#[test]
fn ordinary_sockets_are_made_and_paired() {
    let program = "import asyncio, socket
for family in (socket.AF_INET, socket.AF_INET6):
    for kind, protocols in ((socket.SOCK_STREAM, (0, 6)), (socket.SOCK_DGRAM, (0, 17))):
        for protocol in protocols:
            socket.socket(family, kind | socket.SOCK_NONBLOCK, protocol).close()
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    socket.socketpair(socket.AF_UNIX, kind)
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 4)
four = socket.socket()
four.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 16)
for name in ('KEEPIDLE', 'KEEPINTVL', 'KEEPCNT', 'USER_TIMEOUT', 'QUICKACK', 'DEFER_ACCEPT'):
    four.setsockopt(socket.IPPROTO_TCP, getattr(socket, 'TCP_' + name), 5)
async def echo(reader, writer):
    writer.write(await reader.read(4))
    writer.close()
async def talk():
    server = await asyncio.start_server(echo, '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b'ping')
    print((await reader.read()).decode())
asyncio.run(talk())";
    for who in everyone() {
        let report = TestHost::new(who).one(json!({ "python": program }));
        assert_eq!(stdout(&report), "ping\n", "{who:?} {}", stderr(&report));
    }
}
