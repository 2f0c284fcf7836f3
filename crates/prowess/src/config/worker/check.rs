//! Checks the settings of a worker.

use std::path::Path;

use prowess_bus::subject;

use super::{WorkerConfig, WorkerToml};
use crate::config::cluster::check_name;
use crate::config::error::ConfigError;

pub(in crate::config) fn check(
    raw: &WorkerToml,
    data_dir: &Path,
) -> Result<WorkerConfig, ConfigError> {
    if raw.slots == Some(0) {
        let reason = "nothing could run; give at least 1";
        return Err(ConfigError::invalid("worker.slots", reason));
    }
    let id = raw.id.as_deref();
    let id = id.map(|id| check_name("worker.id", id, subject::token(id)));
    Ok(WorkerConfig {
        id: id.transpose()?,
        slots: raw.slots,
        waiting: raw.waiting,
        state_dir: raw
            .state_dir
            .clone()
            .unwrap_or_else(|| data_dir.join("worker")),
        cache_bytes: raw.cache_size.get(),
        drain_timeout: raw.drain_timeout.get(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(text: &str) -> Result<WorkerConfig, String> {
        let raw: WorkerToml = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&raw, Path::new("/data")).map_err(|error| error.to_string())
    }

    #[test]
    fn every_setting_is_read() {
        let worker = read("").unwrap();
        assert_eq!(
            (worker.id, worker.slots, worker.waiting),
            (None, None, None)
        );
        assert_eq!(worker.state_dir, Path::new("/data/worker"));
        let text = "id = 'w_1'\nslots = 3\nwaiting = 0\nstate_dir = '/state'\ncache_size = '1M'\n\
                    drain_timeout = '5s'\n";
        let worker = read(text).unwrap();
        assert_eq!(worker.id.as_deref(), Some("w_1"));
        assert_eq!((worker.slots, worker.waiting), (Some(3), Some(0)));
        assert_eq!(worker.state_dir, Path::new("/state"));
        assert_eq!(worker.cache_bytes, 1 << 20);
        assert_eq!(worker.drain_timeout, Duration::from_secs(5));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        insta::assert_snapshot!(read("slots = 0").unwrap_err(), @"worker.slots: nothing could run; give at least 1");
        insta::assert_snapshot!(read("id = 'a b'").unwrap_err(), @"worker.id: `a b` must be 1 to 64 letters, digits, `_` and `-`");
    }
}
