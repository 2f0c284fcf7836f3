//! Attacks from inside on resources that count for the server's user, on information about
//! the host, and on the host's device nodes.
#![cfg(target_arch = "x86_64")]

use crate::attacks::attack;
use crate::support::{TestHost, everyone, on_the_host, stderr, stdout};
use serde_json::json;

#[test]
fn inotify_instances_of_the_servers_user_cannot_be_used_up() {
    attack("return syscall(294, 0o2000000)");
    attack("return syscall(253)");
}

#[test]
fn programs_that_watch_files_fall_back_to_looking() {
    for who in everyone() {
        let line = "echo one > f; timeout 20 tail -n +1 -f f 2>/dev/null | head -n 1";
        let report = TestHost::new(who).one(json!({ "bash": line }));
        assert_eq!(stdout(&report), "one\n", "{who:?} {}", stderr(&report));
    }
}

#[test]
fn timers_of_the_servers_user_cannot_be_used_up() {
    attack(
        "
made = 0
def more(_=None):
    nonlocal made
    timer = ctypes.create_string_buffer(8)
    try:
        while made < 3000:
            syscall(222, 1, 0, timer)
            made += 1
    except OSError as error:
        if error.errno != errno.EAGAIN:
            raise
more()
# Another process of the sandbox gets no more of its own.
read, write = os.pipe()
if os.fork() == 0:
    before, made = made, 0
    more()
    os.write(write, str(made).encode())
    os._exit(0)
others = int(os.read(read, 64))
return made < 1 or made + others > 600",
    );
}

#[test]
fn pending_signals_of_the_servers_user_cannot_be_used_up() {
    attack(
        "
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
info = ctypes.create_string_buffer(struct.pack('iiiiii', signal.SIGRTMIN, 0, -1, 0, os.getpid(), os.getuid()) + bytes(104))
queued = 0
try:
    while queued < 3000:
        syscall(129, os.getpid(), signal.SIGRTMIN, info)
        queued += 1
except OSError as error:
    if error.errno != errno.EAGAIN:
        raise
return queued < 1 or queued > 300",
    );
}

#[test]
fn descriptors_in_flight_stay_below_what_the_server_may_have() {
    attack(
        "
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if hard > 512 or soft > 512:
    return True
flying, ends = 0, []
try:
    while flying < 5000:
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        one.setblocking(False)
        ends += [one, other]
        try:
            while True:
                socket.send_fds(one, [b'x'], [0] * 200)
                flying += 200
        except BlockingIOError:
            pass
except OSError as error:
    if error.errno not in (errno.ETOOMANYREFS, errno.EMFILE):
        raise
return flying < 200 or flying > 512 + 253",
    );
}

/// Many processes send as many descriptors as they can and receive none.
const IN_FLIGHT: &str = "import os, socket, time
def fill():
    kept = []
    try:
        while True:
            one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            one.setblocking(False)
            kept += [one, other]
            try:
                while True:
                    socket.send_fds(one, [b'x'], [0] * 250)
            except BlockingIOError:
                pass
    except OSError:
        return kept
read, write = os.pipe()
for n in range(20):
    if os.fork() == 0:
        kept = fill()
        os.write(write, b'x')
        time.sleep(600)
for n in range(20):
    os.read(read, 1)
print('full', flush=True)
time.sleep(600)";

#[test]
fn descriptors_in_flight_in_some_commands_stop_no_other_from_starting() {
    for who in everyone() {
        let host = TestHost::new(who);
        // The default of many systems for a server that does not raise it.
        let mut server = on_the_host(who, "bash");
        let line = "ulimit -Sn 1024 && ulimit -Hn 1024 && exec \"$0\"";
        server.args(["-c", line]).arg(host.program());
        let beside = json!({ "python": IN_FLIGHT });
        let run = json!({ "command": { "bash": "echo started" } });
        let request = json!({ "beside": [beside, beside], "runs": [run, run, run] });
        for report in host.run_by(server, request) {
            assert_eq!(stdout(&report), "started\n", "{who:?}");
        }
    }
}

#[test]
fn timers_and_signals_that_one_command_holds_are_not_missing_elsewhere() {
    let hold = "import ctypes, time
libc = ctypes.CDLL(None)
timer = ctypes.create_string_buffer(8)
made = 0
while made < 500_000 and libc.syscall(222, 1, 0, timer) == 0:
    made += 1
print(made, flush=True)
time.sleep(600)";
    let use_some = "import ctypes
libc = ctypes.CDLL(None)
timer = ctypes.create_string_buffer(8)
print(sum(libc.syscall(222, 1, 0, timer) == 0 for _ in range(200)))";
    for who in everyone() {
        let beside = json!({ "python": hold });
        let run = json!({ "command": { "python": use_some } });
        let request = json!({ "beside": [beside, beside], "runs": [run] });
        let report = TestHost::new(who).run(request).remove(0);
        assert_eq!(stdout(&report), "200\n", "{who:?}");
    }
}

#[test]
fn other_counters_of_the_servers_user_are_out_of_reach() {
    attack(
        "
import resource
limits = {'MEMLOCK': 65536, 'MSGQUEUE': 0, 'SIGPENDING': 256, 'CORE': 0}
for name, most in limits.items():
    if resource.getrlimit(getattr(resource, 'RLIMIT_' + name))[1] > most:
        return name
return False",
    );
    // Asynchronous IO, message queues, fanotify, keys, namespaces of time.
    for call in [
        "syscall(206, 8, ctypes.create_string_buffer(8))",
        "syscall(240, b'/q', os.O_CREAT | os.O_RDWR, 0o600, 0)",
        "syscall(300, 0, 0)",
        "syscall(248, b'user', b'a', b'b', 1, -4)",
        "syscall(272, 0x80)",
    ] {
        attack(&format!("return {call}"));
    }
}

/// A filter of one instruction, as the kernel reads it.
const FILTER: &str = "
code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
program = struct.pack('HxxxxxxQ', 1, ctypes.addressof(code))
program = ctypes.create_string_buffer(program)";

#[test]
fn the_hosts_memory_for_compiled_filters_cannot_be_used_up() {
    attack(&format!("{FILTER}\nreturn syscall(317, 1, 0, program)"));
    attack(&format!("{FILTER}\nreturn syscall(157, 22, 2, program)"));
    // Of sockets: SO_ATTACH_FILTER, SO_ATTACH_REUSEPORT_CBPF, and what else attaches one.
    attack(&format!(
        "{FILTER}
attached = []
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
        one = socket.socket(family, kind)
        if family != socket.AF_UNIX:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind(('', 0))
        for option in (26, 44, 50, 51, 52):
            for wide in (0, 1 << 32):
                if not denied(54, one.fileno(), 1 | wide, option | wide, program, 16):
                    attached.append((family, kind, option, wide))
return attached"
    ));
}

#[test]
fn huge_pages_that_the_host_has_set_aside_are_out_of_reach() {
    // Of any size, in memory and by a file in memory.
    attack(
        "
mapped = [
    flags for flags in (0x40022, 0x40022 | 21 << 26, 0x40021 | 30 << 26)
    if not denied(9, 0, 2 << 20, 3, flags, -1, 0)
]
files = [flags for flags in (4, 5 | 30 << 26) if not denied(319, b'huge', flags)]
return mapped + files",
    );
}

#[test]
fn sockets_load_no_modules_of_the_host() {
    // SCTP, DCCP, L2TP, UDP-Lite, MPTCP.
    attack(
        "
made = []
for family in (2, 10, 2 | 1 << 32):
    for kind, protocol in ((1, 132), (6, 33), (2, 115), (2, 136), (1, 262)):
        if not denied(41, family, kind, protocol | 1 << 32):
            made.append((family, kind, protocol))
return made",
    );
}

#[test]
fn ordinary_options_of_sockets_are_set() {
    let program = "import socket
one = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
names = ['REUSEADDR', 'REUSEPORT', 'KEEPALIVE', 'BROADCAST', 'SNDBUF', 'RCVBUF', 'OOBINLINE', 'PRIORITY']
for name in names:
    one.setsockopt(socket.SOL_SOCKET, getattr(socket, 'SO_' + name), 1)
one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes(8))
one.settimeout(1)
other = socket.socket(socket.AF_UNIX)
other.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 4)
print('set')";
    for who in everyone() {
        let report = TestHost::new(who).one(json!({ "python": program }));
        assert_eq!(stdout(&report), "set\n", "{who:?} {}", stderr(&report));
    }
}

#[test]
fn what_others_do_in_shared_folders_is_not_reported() {
    let folders = "('/usr', '/usr/bin', '/usr/lib', '/dev', '/mnt/data', '/')";
    for request in ["1026, 1 | 0x80000000", "1024, fcntl.F_WRLCK"] {
        attack(&format!(
            "
came = []
for path in {folders}:
    try:
        fcntl.fcntl(os.open(path, os.O_RDONLY), {request})
        came.append(path)
    except OSError:
        pass
file = os.open('/mnt/data/own', os.O_RDWR | os.O_CREAT)
try:
    fcntl.fcntl(file, {request})
    came.append('own')
except OSError:
    pass
return came"
        ));
    }
}

#[test]
fn the_list_of_mounts_shows_no_folder_of_the_host() {
    for who in everyone() {
        let host = TestHost::new(who);
        let request = json!({
            "skills": [["pdf", [["a.txt", "text", false]]]],
            "put": [["before.txt", "x"]],
            "runs": [{ "command": { "bash":
                "cat /skills/pdf/a.txt /mnt/data/before.txt; cat /proc/self/mountinfo /proc/self/mounts /proc/self/mountstats /proc/1/mountinfo 2>/dev/null; true" } }],
        });
        let report = host.run(request).remove(0);
        let mounts = stdout(&report);
        assert!(mounts.starts_with("textx"), "{who:?} {mounts}");
        let folder = host.state();
        let name = folder.parent().unwrap().file_name().unwrap();
        assert!(!mounts.contains(name.to_str().unwrap()), "{who:?} {mounts}");
        assert!(!mounts.contains("/sandbox/state"), "{who:?} {mounts}");
    }
}

#[test]
fn device_nodes_of_the_host_keep_their_times_and_modes() {
    let devices = "('null', 'zero', 'full', 'random', 'urandom')";
    for change in [
        "os.utime(path)",
        "os.utime(path, (1, 1))",
        "os.chmod(path, 0o600)",
        "os.chown(path, 1000, 1000)",
        "os.setxattr(path, 'user.x', b'x')",
    ] {
        attack(&format!(
            "
changed = []
for name in {devices}:
    path = '/dev/' + name
    try:
        {change}
        changed.append(name)
    except OSError:
        pass
return changed"
        ));
    }
}

#[test]
fn devices_can_be_read_and_written_as_ever() {
    let line = "echo x > /dev/null && echo y >> /dev/zero && head -c 4 /dev/urandom | wc -c \
        && head -c 2 /dev/random | wc -c && head -c 3 /dev/zero | wc -c && ! echo z > /dev/full \
        && python3 -c 'open(\"/dev/null\", \"r+b\", 0).write(b\"x\")' && cat /dev/null && echo done";
    for who in everyone() {
        let report = TestHost::new(who).one(json!({ "bash": line }));
        assert_eq!(
            stdout(&report),
            "4\n2\n3\ndone\n",
            "{who:?} {}",
            stderr(&report)
        );
    }
}
