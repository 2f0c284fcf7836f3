//! Other tools: no isolation, bubblewrap, runc and Docker.

use crate::daemon::{Daemon, IMAGE};
use crate::{IMPORT, PASS, PYTHON, Timing, Way, spawn};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The container that `docker exec` is measured in.
const CONTAINER: &str = "bench";

/// The available tools.
pub(crate) struct Others {
    bundle: Option<PathBuf>,
    daemon: Option<Daemon>,
    layer: Option<PathBuf>,
}

impl Others {
    pub(crate) fn new(folder: &Path, layer: Option<PathBuf>) -> Self {
        Self {
            bundle: runc_bundle(folder),
            daemon: docker(),
            layer,
        }
    }

    /// `None` if the tool is missing, or the way is not one of these.
    pub(crate) fn one(&self, way: Way) -> Option<Timing> {
        match way {
            Way::Bare => Some(spawn(bare().args(["-c", PASS]))),
            Way::BareImport => {
                let path = self.layer.as_ref()?;
                let mut command = bare();
                command.env("PYTHONPATH", path);
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                Some(spawn(command.args(["-c", IMPORT])))
            }
            Way::Bwrap => Path::new("/usr/bin/bwrap")
                .exists()
                .then(|| spawn(&mut bwrap())),
            Way::Runc => self.bundle.as_ref().map(|bundle| {
                let id = format!("bench-{}", std::process::id());
                spawn(runc().args(["run", "--bundle"]).arg(bundle).arg(id))
            }),
            Way::DockerExec => {
                let daemon = self.daemon.as_ref()?;
                Some(spawn(
                    &mut daemon.docker(&["exec", CONTAINER, PYTHON, "-c", PASS]),
                ))
            }
            _ => None,
        }
    }
}

fn bare() -> Command {
    let mut command = Command::new(PYTHON);
    command.env_clear();
    command
}

fn runc() -> Command {
    Command::new("/usr/sbin/runc")
}

fn bwrap() -> Command {
    let mut command = Command::new("bwrap");
    command.env_clear();
    command.args(["--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]);
    for shown in [
        "/usr",
        "/etc/alternatives",
        "/etc/ld.so.cache",
        "/etc/ssl/certs",
    ] {
        command.args(["--ro-bind", shown, shown]);
    }
    for (target, link) in [
        ("usr/lib", "/lib"),
        ("usr/lib64", "/lib64"),
        ("usr/bin", "/bin"),
    ] {
        command.args(["--symlink", target, link]);
    }
    for (what, at) in [("--proc", "/proc"), ("--dev", "/dev"), ("--tmpfs", "/tmp")] {
        command.args([what, at]);
    }
    command.args([
        "--tmpfs",
        "/mnt/data",
        "--chdir",
        "/mnt/data",
        PYTHON,
        "-c",
        PASS,
    ]);
    command
}

fn docker() -> Option<Daemon> {
    let daemon = Daemon::start()
        .inspect_err(|why| println!("without docker: {why}"))
        .ok()?;
    let hard = [
        "--network",
        "none",
        "--read-only",
        "--cap-drop",
        "ALL",
        "--user",
        "1000:1000",
    ];
    let mut arguments = vec!["run", "--detach", "--name", CONTAINER];
    arguments.extend(hard);
    arguments.extend([
        "--security-opt",
        "no-new-privileges",
        IMAGE,
        "sleep",
        "86400",
    ]);
    let started = daemon.docker(&arguments).output().unwrap();
    started.status.success().then_some(daemon)
}

/// A bundle that runs Python on a read-only view of the host's.
fn runc_bundle(folder: &Path) -> Option<PathBuf> {
    let bundle = folder.join("bundle");
    let root = bundle.join("root");
    std::fs::create_dir_all(&root).unwrap();
    for name in ["usr", "proc", "dev", "sys", "tmp"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    for name in ["bin", "lib", "lib64"] {
        std::os::unix::fs::symlink(format!("usr/{name}"), root.join(name)).unwrap();
    }
    let made = runc().arg("spec").current_dir(&bundle).status();
    if !made.is_ok_and(|status| status.success()) {
        return None;
    }
    let path = bundle.join("config.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut spec: serde_json::Value = serde_json::from_str(&text).unwrap();
    spec["process"]["terminal"] = false.into();
    spec["process"]["args"] = [PYTHON, "-c", PASS].as_slice().into();
    spec["root"]["path"] = root.to_str().unwrap().into();
    spec["mounts"]
        .as_array_mut()
        .unwrap()
        .push(serde_json::json!({
            "destination": "/usr", "source": "/usr", "type": "bind", "options": ["rbind", "ro"],
        }));
    // It cannot raise a limit that this process may not raise.
    spec["process"].as_object_mut().unwrap().remove("rlimits");
    std::fs::write(&path, spec.to_string()).unwrap();
    let once = runc()
        .args(["run", "--bundle"])
        .arg(&bundle)
        .arg("bench-probe")
        .output();
    once.is_ok_and(|output| output.status.success())
        .then_some(bundle)
}
