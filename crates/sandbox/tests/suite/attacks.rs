//! One test per attack. Each is a few lines of Python, run as root and as an ordinary user,
//! in a new and in a provisioned sandbox. It must be blocked in all of them, and leave every
//! kernel knob unchanged. Nothing is ever written to a knob: opening it for writing would be
//! proof enough.
#![cfg(target_arch = "x86_64")]

use crate::knobs::knobs;
use crate::support::{SECRET, TestHost, everyone, stderr, stdout};
use serde_json::json;

/// Helper functions of the attacks.
const TOOLS: &str = r#"
import ctypes, errno, fcntl, os, signal, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *arguments):
    as_long = [a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a) for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *as_long)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True
def denied(number, *arguments):
    try:
        syscall(number, *arguments)
    except OSError as error:
        return error.errno == errno.EPERM
def opened(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC))
    return True
def child(work):
    pid = os.fork()
    if pid == 0:
        os._exit(1 if work() else 0)
    return os.waitpid(pid, 0)[1]
"#;

/// Reports whether one attack succeeded: it did if it returns a truthy value.
const ONE: &str = r#"
try:
    possible = attempt()
except OSError as error:
    print('blocked by', errno.errorcode.get(error.errno, error))
else:
    print('POSSIBLE' if possible else 'blocked')
"#;

/// Runs every attack in a process of its own, and prints those that succeeded. A killed
/// one was blocked.
const EACH: &str = r#"
def comes_through(attempt):
    try:
        return attempt()
    except OSError:
        return False
for name, attempt in attempts.items():
    sys.stdout.flush()
    status = child(lambda: comes_through(attempt))
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1:
        print(name)
"#;

fn function(name: &str, body: &str) -> String {
    let lines = body.trim().lines().map(|line| format!("    {line}\n"));
    format!("def {name}():\n{}", lines.collect::<String>())
}

/// A program that runs these attacks and prints the names of those that succeeded.
pub(crate) fn each<'a>(attacks: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> String {
    let mut program = format!("{TOOLS}attempts = {{}}\n");
    for (name, body) in attacks {
        program += &function("attempt", body);
        program += &format!("attempts[{name:?}] = attempt\n");
    }
    program + EACH
}

pub(crate) fn attack(body: &str) {
    let program = format!("{TOOLS}{}{ONE}", function("attempt", body));
    for who in everyone() {
        let before = knobs();
        let run = json!({ "command": { "python": program } });
        let reports = TestHost::new(who).run(json!({ "warm": 1, "runs": [run, run] }));
        for (report, start) in reports.iter().zip(["cold", "warm"]) {
            let output = stdout(report);
            assert!(
                output.starts_with("blocked"),
                "{who:?}, {start}: {output} {}",
                stderr(report)
            );
            assert_eq!(report["outcome"], json!({ "exit": 0 }), "{who:?}, {start}");
        }
        assert_eq!(knobs(), before, "{who:?}");
    }
}

macro_rules! attacks {
    ($($name:ident: $body:expr;)*) => {
        /// Every attack, by name.
        pub(crate) const ALL: &[(&str, &str)] = &[$((stringify!($name), $body)),*];
        $(
        #[test]
        fn $name() {
            attack($body);
        }
        )*
    };
}

attacks! {
    // Kernel knobs and the host's files.
    core_pattern_cannot_be_opened: "return opened('/proc/sys/kernel/core_pattern', os.O_WRONLY)";
    modprobe_path_cannot_be_opened: "return opened('/proc/sys/kernel/modprobe', os.O_WRONLY)";
    no_sysctl_is_in_sight: "return os.listdir('/proc/sys')";
    sysrq_trigger_cannot_be_opened: "return opened('/proc/sysrq-trigger', os.O_WRONLY)";
    kernel_memory_is_not_in_sight: "return opened('/proc/kcore')";
    kernel_log_is_not_in_sight: "return opened('/dev/kmsg') or opened('/proc/kmsg')";
    kernel_keys_are_not_in_sight: "return opened('/proc/keys')";
    kernel_symbols_are_not_in_sight: "return opened('/proc/kallsyms')";
    sysfs_is_not_in_sight: "return os.listdir('/sys')";
    control_groups_are_not_in_sight: "return os.listdir('/sys/fs/cgroup')";
    physical_memory_is_not_in_sight: "return opened('/dev/mem')";
    virtual_machines_are_not_in_sight: "return opened('/dev/kvm')";
    disks_are_not_in_sight:
        "return [name for name in os.listdir('/dev') if name.startswith(('sd', 'vd', 'nvme', 'loop', 'dm'))]";
    terminals_are_not_in_sight: "return opened('/dev/tty') or opened('/dev/ptmx') or opened('/dev/console')";
    passwords_cannot_be_read: "return opened('/etc/shadow')";
    the_hosts_users_are_not_in_sight: "return 'root' in open('/etc/passwd').read()";
    the_hosts_name_is_not_in_sight: "return os.uname().nodename != 'sandbox'";
    home_folders_are_not_in_sight: "return os.listdir('/root') or os.listdir('/home')";
    the_hosts_var_and_run_are_not_in_sight:
        "return [name for name in ('var', 'run', 'boot', 'srv', 'opt', 'media') if os.path.exists('/' + name)]";
    the_state_folder_is_not_in_sight: "return os.listdir('/.state') or os.listdir('/.layer')";
    docker_socket_is_not_in_sight: "return os.path.exists('/var/run/docker.sock') or os.path.exists('/run/docker.sock')";
    the_runtime_cannot_be_written: "return opened('/usr/bin/python3', os.O_WRONLY)";
    nothing_can_be_added_to_the_runtime: "return opened('/usr/lib/evil', os.O_WRONLY | os.O_CREAT)";
    etc_cannot_be_written: "return opened('/etc/passwd', os.O_WRONLY)";
    the_root_cannot_be_written: "os.mkdir('/evil'); return True";
    mnt_cannot_be_written: "os.mkdir('/mnt/evil'); return True";
    dev_cannot_be_written: "return opened('/dev/evil', os.O_WRONLY | os.O_CREAT)";
    the_runtime_cannot_be_linked_into_the_data: "os.link('/usr/bin/python3.11', '/mnt/data/python'); return True";
    devices_cannot_be_made: "os.mknod('/mnt/data/sda', 0o60666, os.makedev(8, 0)); return True";
    character_devices_cannot_be_made: "os.mknod('/tmp/mem', 0o20666, os.makedev(1, 1)); return True";

    // Mounts and namespaces.
    nothing_can_be_mounted: "return syscall(165, b'none', b'/tmp', b'tmpfs', 0, b'')";
    nothing_can_be_unmounted: "return syscall(166, b'/proc', 2)";
    the_root_cannot_be_remounted_writable: "return syscall(165, b'none', b'/', b'', 32 | 4096, b'')";
    the_root_cannot_be_changed: "os.chroot('/tmp'); return True";
    the_root_cannot_be_pivoted: "return syscall(155, b'/tmp', b'/tmp')";
    mounts_cannot_be_cloned: "return syscall(428, -100, b'/', 1)";
    mounts_cannot_be_moved: "return syscall(429, -100, b'/tmp', -100, b'/mnt', 0)";
    file_systems_cannot_be_opened: "return syscall(430, b'tmpfs', 0)";
    mount_attributes_cannot_be_set: "return syscall(442, -100, b'/', 0, ctypes.create_string_buffer(32), 32)";
    user_namespaces_cannot_be_made: "return syscall(272, 0x10000000)";
    mount_namespaces_cannot_be_made: "return syscall(272, 0x20000)";
    network_namespaces_cannot_be_made: "return syscall(272, 0x40000000)";
    clone_makes_no_user_namespace: "return syscall(56, 0x10000000 | 17, 0, 0, 0, 0)";
    clone_makes_no_pid_namespace: "return syscall(56, 0x20000000 | 17, 0, 0, 0, 0)";
    clone3_is_not_there: "return syscall(435, ctypes.create_string_buffer(88), 88)";
    namespaces_of_pid_1_cannot_be_opened: "return opened('/proc/1/ns/mnt')";
    namespaces_cannot_be_entered:
        "fd = os.open('/proc/self/ns/user', os.O_RDONLY)\nreturn syscall(308, fd, 0)";
    the_id_map_cannot_be_written: "return os.write(os.open('/proc/self/uid_map', os.O_WRONLY), b'0 0 1')";
    file_handles_cannot_be_made:
        "return syscall(303, -100, b'/usr', ctypes.create_string_buffer(struct.pack('I', 128) + bytes(132)), ctypes.create_string_buffer(8), 0)";
    file_handles_cannot_be_opened: "return syscall(304, -100, ctypes.create_string_buffer(136), 0)";

    // Other processes.
    pid_1_cannot_be_traced: "return syscall(101, 16, 1, 0, 0)";
    pid_1_cannot_be_seized: "return syscall(101, 0x4206, 1, 0, 0)";
    a_child_cannot_be_traced: "return syscall(101, 0, 0, 0, 0)";
    memory_of_pid_1_cannot_be_read: "return opened('/proc/1/mem')";
    maps_of_pid_1_cannot_be_read: "return open('/proc/1/maps').read()";
    environment_of_pid_1_cannot_be_read: "return open('/proc/1/environ').read()";
    descriptors_of_pid_1_cannot_be_listed: "return os.listdir('/proc/1/fd')";
    root_of_pid_1_cannot_be_entered: "return os.listdir('/proc/1/root')";
    the_launcher_program_cannot_be_opened: "return opened('/proc/1/exe')";
    memory_of_others_cannot_be_read_by_vm_calls:
        "return syscall(310, os.getppid(), 0, 0, 0, 0, 0)";
    memory_of_others_cannot_be_written_by_vm_calls:
        "return syscall(311, os.getppid(), 0, 0, 0, 0, 0)";
    descriptors_of_others_cannot_be_taken:
        "fd = syscall(434, 1, 0) and os.pidfd_open(1)\nreturn syscall(438, fd, 0, 0)";
    processes_cannot_be_compared: "return syscall(312, 1, os.getpid(), 0, 0, 0)";
    pid_1_survives_signals:
        "for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV):\n    os.kill(1, number)\nreturn False";
    no_process_of_the_host_is_in_sight: "return [pid for pid in os.listdir('/proc') if pid.isdigit() and int(pid) > 64]";
    processes_of_the_host_cannot_be_signalled: "os.kill(os.getpid() + 4000, 0); return True";

    // Rights.
    root_cannot_be_become: "os.setuid(0); return True";
    other_users_cannot_be_become: "os.setresuid(1, 1, 1); return True";
    groups_cannot_be_joined: "os.setgroups([0]); return True";
    capabilities_cannot_be_raised:
        "header = ctypes.create_string_buffer(struct.pack('Ii', 0x20080522, 0))\ndata = ctypes.create_string_buffer(struct.pack('6I', 1 << 21, 1 << 21, 0, 0, 0, 0))\nreturn syscall(126, header, data)";
    no_capability_is_left:
        "return [line for line in open('/proc/self/status') if line.startswith('Cap') and int(line.split()[1], 16)]";
    set_id_programs_gain_nothing:
        "made = subprocess.run(['bash', '-c', 'cp /usr/bin/id /mnt/data/id && chmod 4755 /mnt/data/id && /mnt/data/id -u'], capture_output=True, text=True)\nreturn made.stdout.strip() == '0'";
    system_set_id_programs_gain_nothing:
        "return subprocess.run(['su', '-c', 'id -u'], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip() == '0'";
    limits_cannot_be_raised:
        "return syscall(160, 7, ctypes.create_string_buffer(struct.pack('QQ', 1 << 20, 1 << 20)))";
    the_address_layout_stays_random: "return syscall(135, 0x40000)";
    the_filter_cannot_be_switched_off: "return libc.prctl(22, 0, 0) == 0";
    the_name_of_the_host_cannot_be_set: "return syscall(170, b'evil', 4)";
    the_clock_cannot_be_set: "return syscall(227, 0, ctypes.create_string_buffer(16))";
    the_oom_order_cannot_be_lowered: "return os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'-1000')";

    // Wide parts of the kernel.
    io_uring_is_not_there: "return syscall(425, 8, ctypes.create_string_buffer(120))";
    bpf_is_not_there: "return syscall(321, 0, ctypes.create_string_buffer(72), 72)";
    perf_events_are_not_there: "return syscall(298, ctypes.create_string_buffer(112), 0, -1, -1, 0)";
    userfaultfd_is_not_there: "return syscall(323, 1)";
    keys_cannot_be_added: "return syscall(248, b'user', b'a', b'b', 1, -3)";
    keys_cannot_be_requested: "return syscall(249, b'user', b'a', 0, -3)";
    keys_cannot_be_controlled: "return syscall(250, 0, -3, 1)";
    modules_cannot_be_loaded: "return syscall(313, 0, b'', 0)";
    kernels_cannot_be_loaded: "return syscall(246, 0, 0, 0, 0)";
    the_machine_cannot_be_restarted: "return syscall(169, 0, 0, 0, 0)";
    ports_cannot_be_opened: "return syscall(172, 3)";
    swap_cannot_be_added: "return syscall(167, b'/tmp/x', 0)";
    the_log_cannot_be_read: "return syscall(103, 3, ctypes.create_string_buffer(64), 64)";
    secret_memory_is_not_there: "return syscall(447, 0)";
    fanotify_is_not_there: "return syscall(300, 0, 0)";
    local_descriptor_tables_cannot_be_changed: "return syscall(154, 1, ctypes.create_string_buffer(16), 16)";
    x32_calls_are_not_there: "return syscall(0x40000000 + 39)";
    i386_calls_kill:
        "import mmap\ncode = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\ncode.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')\nrun = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))\nstatus = child(lambda: run() > 0)\nreturn not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS)";
    terminals_cannot_be_typed_into: "return not denied(16, 0, 0x5412, b'x')";
    terminals_cannot_be_typed_into_by_a_wide_request:
        "return not denied(16, 0, 0x1_0000_5412, b'x')";
    the_console_cannot_be_pasted_to: "return not denied(16, 0, 0x541C, b'\\x03')";

    // Sockets and the network.
    vsock_is_not_there: "socket.socket(40, socket.SOCK_STREAM); return True";
    netlink_is_not_there: "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); return True";
    packet_sockets_are_not_there: "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); return True";
    kernel_crypto_sockets_are_not_there: "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET); return True";
    bluetooth_is_not_there: "socket.socket(31, socket.SOCK_RAW, 1); return True";
    raw_sockets_cannot_be_opened: "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); return True";
    the_internet_cannot_be_reached: "socket.create_connection(('192.0.2.1', 443), 5); return True";
    datagrams_cannot_be_sent: "return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))";
    ipv6_cannot_be_reached: "socket.create_connection(('2001:db8::1', 443), 5); return True";
    the_metadata_service_cannot_be_reached: "socket.create_connection(('169.254.169.254', 80), 5); return True";
    names_cannot_be_resolved: "return socket.getaddrinfo('example.com', 443)";
    only_loopback_is_there: "return [name for _, name in socket.if_nameindex() if name != 'lo']";

    // What the server left behind.
    no_descriptor_can_be_passed_out:
        "passed = []\nfor fd in range(1024):\n    try:\n        end = socket.socket(fileno=os.dup(fd))\n        socket.send_fds(end, [b'x'], [os.open('/mnt/data', os.O_RDONLY)])\n        passed.append(fd)\n    except (OSError, ValueError):\n        pass\nreturn passed";
    only_standard_descriptors_are_open:
        "return [fd for fd in os.listdir('/proc/self/fd') if int(fd) > 3]";
    standard_descriptors_are_pipes:
        "return [fd for fd in range(3) if not os.readlink(f'/proc/self/fd/{fd}').startswith('pipe:')]";
}

#[test]
fn the_servers_environment_is_nowhere_to_be_read() {
    attack(&format!(
        "found = [key for key, value in os.environ.items() if {SECRET:?} in value]
for pid in filter(str.isdigit, os.listdir('/proc')):
    for name in ('environ', 'cmdline', 'mem'):
        try:
            found += [pid] if {SECRET:?}.encode() in open(f'/proc/{{pid}}/{{name}}', 'rb').read() and pid != str(os.getpid()) else []
        except OSError:
            pass
return found"
    ));
}

#[test]
fn a_service_on_the_hosts_loopback_cannot_be_reached() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    attack(&format!(
        "socket.create_connection(('127.0.0.1', {port}), 5); return True"
    ));
}

#[test]
fn an_abstract_socket_of_the_host_cannot_be_reached() {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("prowess-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    attack(&format!(
        "socket.socket(socket.AF_UNIX).connect('\\0{name}'); return True"
    ));
}

#[test]
fn a_skill_cannot_be_changed() {
    for who in everyone() {
        let request = json!({
            "skills": [["pdf", [["scripts/run.sh", "echo from the skill", true]]]],
            "runs": [
                { "command": { "bash": "/skills/pdf/scripts/run.sh; echo evil > /skills/pdf/scripts/run.sh" } },
                { "command": { "bash": "rm -rf /skills/pdf; chmod 777 /skills/pdf; touch /skills/new" } },
                { "command": { "bash": "cat /skills/pdf/scripts/run.sh" } },
            ],
        });
        let reports = TestHost::new(who).run(request);
        assert_eq!(stdout(&reports[0]), "from the skill\n", "{who:?}");
        assert_eq!(reports[0]["outcome"], json!({ "exit": 1 }));
        assert_eq!(reports[1]["outcome"], json!({ "exit": 1 }));
        assert_eq!(stdout(&reports[2]), "echo from the skill");
    }
}
