//! What the server needs of the host besides the sandbox: its port, and disk space.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use prowess_store::StoreConfig;

use super::part::PartReport;

pub(super) const PORT: &str = "port";
const DISK: &str = "disk";

/// Less than this is worth a remark: a runtime, packages and containers take gigabytes.
const LOW_BYTES: u64 = 1 << 30;

/// Whether the server could listen on its address.
pub(super) fn check_port(listen: SocketAddr) -> PartReport {
    match TcpListener::bind(listen) {
        Ok(_) => PartReport::ok(PORT, format!("{listen} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => PartReport::note(
            PORT,
            format!("{listen} is in use"),
            "if not by this server, choose another with --listen, or listen under [server] in \
             prowess.toml",
        ),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => PartReport::missing(
            PORT,
            format!("{listen} is not allowed for this user"),
            "choose a port of 1024 or above, or give the server CAP_NET_BIND_SERVICE",
        ),
        Err(error) => PartReport::missing(
            PORT,
            format!("{listen}: {error}"),
            "choose an address of this host: listen under [server] in prowess.toml",
        ),
    }
}

/// How much space is left for data.
#[cfg(target_os = "linux")]
pub(super) fn check_disk(config: &StoreConfig) -> Option<PartReport> {
    use crate::output::format_size;
    let mut folders = config.data_dir.ancestors();
    // The folder itself may not exist yet.
    let found = folders.find_map(|folder| rustix::fs::statvfs(folder).ok());
    let found = found.or_else(|| rustix::fs::statvfs(".").ok())?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let detail = format!(
        "{} free for {}",
        format_size(free),
        config.data_dir.display()
    );
    Some(if free < config.reserve_bytes {
        let reserve = format_size(config.reserve_bytes);
        PartReport::missing(
            DISK,
            format!("{detail}, and {reserve} are reserved"),
            "free space, or lower disk_reserve under [store] in prowess.toml",
        )
    } else if free < LOW_BYTES {
        PartReport::note(
            DISK,
            detail,
            "free space: packages and containers need more",
        )
    } else {
        PartReport::ok(DISK, detail)
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn check_disk(_: &StoreConfig) -> Option<PartReport> {
    None
}
