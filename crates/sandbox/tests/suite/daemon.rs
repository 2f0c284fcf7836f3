//! A Docker daemon for tests and benchmarks, in its own namespaces, with its own data
//! folder, and with an image built from this host's Python and bash. It writes no knob of
//! the host, and ends with the test. `xtask/tests/dist` starts it with another image.

use crate::knobs::knobs;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The image's name.
pub(crate) const IMAGE: &str = "prowess-test";

/// Programs of the image, beside Python.
const PROGRAMS: &str = "bash dash sleep cat ls rm cp chmod id mkdir touch head yes ln mkfifo";

/// Builds a root file system in `$1` from what this host has.
const BUILD: &str = r#"
set -e
mkdir -p "$1/usr/bin" "$1/usr/lib" "$1/usr/lib64" "$1/etc" "$1/tmp" "$1/proc" "$1/dev" "$1/sys"
mkdir -p "$1/mnt/data" "$1/skills" "$1/packages"
for name in bin lib lib64; do ln -s "usr/$name" "$1/$name"; done
for name in $PROGRAMS; do cp -L "/usr/bin/$name" "$1/usr/bin/"; done
ln -s dash "$1/usr/bin/sh"
python=$(basename "$(readlink -f /usr/bin/python3)")
cp "/usr/bin/$python" "$1/usr/bin/"
ln -s "$python" "$1/usr/bin/python3"
cp -r "/usr/lib/$python" "$1/usr/lib/"
find "$1/usr" -name __pycache__ -prune -exec rm -r {} +
find "$1/usr" -type f \( -name '*.so' -o -perm -100 \) -exec ldd {} + 2>/dev/null |
    grep -o '/[^ ]*\.so[^ ]*' | grep '^/lib' | sort -u |
    while read -r library; do
        mkdir -p "$1$(dirname "$library")"
        cp -L "$library" "$1$library"
    done
"#;

/// A running daemon.
pub(crate) struct Daemon {
    process: Child,
    folder: TempDir,
    group: String,
}

impl Daemon {
    /// Starts one with the image in it, or returns why that is not possible.
    pub(crate) fn start() -> Result<Self, String> {
        let daemon = Self::start_empty()?;
        daemon.import()?;
        Ok(daemon)
    }

    /// Starts one without images, or returns why that is not possible.
    pub(crate) fn start_empty() -> Result<Self, String> {
        if fs::metadata("/proc/self").map_or(true, |process| process.uid() != 0) {
            return Err("starting a Docker daemon needs root".into());
        }
        let path = search_path();
        let there = |name: &str| path.iter().any(|folder| folder.join(name).exists());
        for name in ["dockerd", "containerd", "runc", "docker", "unshare"] {
            if !there(name) {
                return Err(format!("{name} is missing; `cargo xtask test` installs it"));
            }
        }
        let before = knobs();
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let group = format!("prowess-docker-{}", std::process::id());
        let process = spawn(folder.path(), &group);
        let mut daemon = Self {
            process,
            folder,
            group,
        };
        daemon.wait()?;
        assert_eq!(knobs(), before, "the daemon leaves the host's knobs alone");
        Ok(daemon)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("docker.sock")
    }

    /// Runs the daemon's own client.
    pub(crate) fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = tool("docker");
        let socket = format!("unix://{}", self.socket().display());
        command.env_remove("DOCKER_HOST");
        command.args(["--host", &socket]).args(arguments);
        command
    }

    fn wait(&mut self) -> Result<(), String> {
        let start = Instant::now();
        while !self.docker(&["version"]).output().unwrap().status.success() {
            let over = self.process.try_wait().unwrap().is_some();
            if over || start.elapsed() > Duration::from_secs(90) {
                let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(3).collect();
                return Err(format!("the Docker daemon does not start: {last:?}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn import(&self) -> Result<(), String> {
        let root = self.folder.path().join("root");
        let archive = self.folder.path().join("root.tar");
        let archive = archive.to_str().unwrap();
        let steps = [
            Command::new("sh")
                .args(["-c", BUILD, "build"])
                .arg(&root)
                .env("PROGRAMS", PROGRAMS)
                .output(),
            Command::new("tar")
                .args(["-cf", archive, "-C"])
                .args([&root, Path::new(".")])
                .output(),
            self.docker(&["import", archive, IMAGE]).output(),
        ];
        for step in steps {
            let step = step.map_err(|error| error.to_string())?;
            if !step.status.success() {
                let why = String::from_utf8_lossy(&step.stderr).into_owned();
                return Err(format!("the image cannot be created: {why}"));
            }
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Its pid 1 ends with it, and so all processes of its namespace.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let groups = fs::read_dir("/sys/fs/cgroup")
            .into_iter()
            .flatten()
            .flatten();
        for controller in groups {
            remove_groups(&controller.path().join(&self.group));
        }
        remove_groups(&Path::new("/sys/fs/cgroup").join(&self.group));
    }
}

fn remove_groups(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove_groups(&entry.path());
        }
    }
    for _ in 0..100 {
        if fs::remove_dir(folder).is_ok() || !folder.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn spawn(folder: &Path, group: &str) -> Child {
    let place = |name: &str| folder.join(name).display().to_string();
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut command = tool("unshare");
    command.args([
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]);
    command.args([
        "dockerd",
        "--bridge=none",
        "--ip-forward=false",
        "--ip-masq=false",
    ]);
    command.args([
        "--iptables=false",
        "--ip6tables=false",
        "--userland-proxy=false",
    ]);
    command.args(["--data-root", &place("data"), "--exec-root", &place("exec")]);
    command.args([
        "--pidfile",
        &place("pid"),
        "--cgroup-parent",
        &format!("/{group}"),
    ]);
    command.args(["--host", &format!("unix://{}", place("docker.sock"))]);
    // Lowering it needs a capability that not every root has.
    command.arg("--oom-score-adjust=0");
    command
        .stdin(Stdio::null())
        .stderr(log.try_clone().unwrap())
        .stdout(log);
    command.spawn().unwrap()
}

/// A command that finds what the test set-up unpacked, and what the system has.
fn tool(name: &str) -> Command {
    let path = std::env::join_paths(search_path()).unwrap();
    let program = search_path().into_iter().map(|folder| folder.join(name));
    let program = program.into_iter().find(|program| program.exists());
    let mut command = Command::new(program.unwrap_or_else(|| name.into()));
    command.env("PATH", path);
    command
}

fn search_path() -> Vec<PathBuf> {
    let program = std::env::current_exe().unwrap();
    let unpacked = program
        .ancestors()
        .map(|folder| folder.join("docker/usr"))
        .find(|folder| folder.join("sbin/dockerd").exists());
    let unpacked = unpacked
        .iter()
        .flat_map(|usr| [usr.join("bin"), usr.join("sbin")]);
    let system = ["/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from);
    unpacked.chain(system).collect()
}
