//! The container image, on a Docker daemon of the test, with the flags that are shipped with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::bare_root::has_root;
use super::daemon::Daemon;
use super::documentation::blocks;
use super::{artefacts, dist, everything, installed, repository, succeeded};

const IMAGE: &str = "prowess:slim";

/// The image with a runtime of its own.
const FULL_IMAGE: &str = "prowess:full";

/// What `prowess doctor` says of a sandbox that lacks nothing.
const STRICT: &str = "strict: every sandbox feature is available";

fn sources() -> PathBuf {
    repository().join("packaging/image")
}

/// A Python with parsers and schemas.
fn python(script: &str) -> Command {
    let mut python = Command::new(installed("manifests-venv").join("bin/python"));
    python.arg(repository().join("tests/install").join(script));
    python.arg(sources());
    python
}

/// The flags of `docker run` that compose.yaml has.
fn shipped_flags() -> Vec<String> {
    let flags = succeeded(&mut python("compose_flags.py"));
    flags.lines().map(str::to_owned).collect()
}

/// A daemon, and images of the tests' own binary for it.
struct Engine {
    daemon: Daemon,
    /// A folder that looks like a checkout with artefacts.
    checkout: TempDir,
}

impl Engine {
    /// With the artefacts that more arguments of `cargo xtask dist` lead to.
    fn start(arguments: &[&str]) -> Engine {
        // The error says what is missing.
        let daemon = Daemon::start_empty().unwrap();
        let checkout = tempfile::tempdir().unwrap();
        let artefacts = checkout.path().join("target/dist/artefacts");
        std::fs::create_dir_all(&artefacts).unwrap();
        image(&artefacts, arguments);
        Engine { daemon, checkout }
    }

    /// Loads the image without a runtime.
    fn load(&self) {
        let archive = archive(&self.checkout.path().join("target/dist/artefacts"));
        let mut load = self.daemon.docker(&["load", "--quiet", "--input"]);
        let loaded = succeeded(load.arg(archive));
        assert!(loaded.contains(IMAGE), "{loaded}");
    }

    /// Runs a command of prowess in a new container; returns everything it printed.
    fn run(&self, flags: &[String], arguments: &[&str]) -> String {
        self.run_image(IMAGE, flags, arguments)
    }

    fn run_image(&self, image: &str, flags: &[String], arguments: &[&str]) -> String {
        let mut run = self.daemon.docker(&["run", "--rm", "--network=none"]);
        let run = run.args(flags).arg(image).args(arguments);
        everything(&run.output().unwrap())
    }

    /// Starts a server in a container; returns the container's id.
    fn serve(&self, flags: &[String]) -> String {
        let mut run = self.daemon.docker(&["run", "--detach", "--network=none"]);
        run.args(flags)
            .arg("--env=PROWESS_MASTER_KEY=for-a-test-alone");
        succeeded(run.arg(IMAGE)).trim().to_owned()
    }

    /// Runs a program in a container that is there.
    fn exec(&self, options: &[&str], container: &str, program: &[&str]) -> String {
        let mut exec = self.daemon.docker(&["exec"]);
        exec.args(options).arg(container).args(program);
        succeeded(&mut exec)
    }
}

/// Makes the image.
fn image(folder: &Path, arguments: &[&str]) {
    installed("image-root/slim.tar");
    dist(&[arguments, &["--only=image"]].concat(), folder);
    assert!(archive(folder).exists());
}

/// The archive of the image without a runtime.
fn archive(folder: &Path) -> PathBuf {
    let version = env!("CARGO_PKG_VERSION");
    folder.join(format!("prowess-{version}-slim-image.tar"))
}

/// What an installation of a runtime leaves: a root with a shell and little else, by the script
/// that the tests of `prowess runtime` have in place of mmdebstrap.
fn tiny_runtime() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script = repository().join("crates/cli/tests/runtimes/mmdebstrap");
    // It notes beside itself that it was called.
    std::fs::copy(script, folder.path().join("make-root")).unwrap();
    let make = "set -e\nmkdir debs root\n: >debs/a_1_all.deb\nsh make-root root.tar\n\
                tar -xf root.tar -C root\necho '{}' >lock.json\n";
    let mut shell = Command::new("sh");
    succeeded(shell.args(["-c", make]).current_dir(folder.path()));
    folder
}

#[test]
fn the_image_works_with_the_flags_that_are_shipped() {
    if !has_root() {
        return;
    }
    let runtime = tiny_runtime();
    let runtime = format!("--runtime={}", runtime.path().display());
    let engine = Engine::start(&[&runtime]);
    // This loads both images.
    run_page(&engine);

    let read = ["sandbox", "exec", "--", "cat", "/usr/share/tiny"];
    let shown = engine.run_image(FULL_IMAGE, &shipped_flags(), &read);
    assert!(shown.contains("a tiny runtime\n"), "{shown}");

    let mut flags = shipped_flags();
    let mounted = [
        (repository().join("tests/install"), "/install"),
        (installed("bare-clients"), "/clients"),
        (artefacts(), "/artefacts"),
    ];
    flags.extend(mounted.map(|(from, to)| format!("--volume={}:{to}:ro", from.display())));
    let container = engine.serve(&flags);

    let ready = "import sys, time, urllib.request
for _ in range(600):
    try:
        answer = urllib.request.urlopen('http://127.0.0.1:4141/readyz', timeout=60)
        break
    except OSError:
        time.sleep(0.1)
print(answer.status)";
    let answer = engine.exec(&[], &container, &["python3", "-c", ready]);
    assert_eq!(answer.trim(), "200");

    let status = engine.exec(&[], &container, &["cat", "/proc/1/status"]);
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(field("Uid:"), ["10001"; 4]);
    assert_eq!(field("Gid:"), ["10001"; 4]);
    assert_eq!(field("Groups:"), [""; 0]);
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(field(set), ["0000000000000000"], "{set}");
    }
    assert_eq!(field("NoNewPrivs:"), ["1"]);

    // A server of its own, without what this one was given.
    let as_user = [
        "--user=10001:10001",
        "--env=PROWESS_LISTEN=127.0.0.1:0",
        "--env=PROWESS_MASTER_KEY=",
    ];
    let smoke = ["/install/smoke.sh", "/usr/bin/prowess"];
    let output = engine.exec(&as_user, &container, &smoke);
    assert!(output.contains("== all of it works"), "{output}");
    npm_packages_work(&engine, &as_user, &container);

    let mut stop = engine.daemon.docker(&["stop", "--time=60", &container]);
    succeeded(&mut stop);
    let mut code = engine.daemon.docker(&["inspect", "--format"]);
    let code = succeeded(code.args(["{{.State.ExitCode}}", &container]));
    assert_eq!(code.trim(), "0", "it stops when it is asked to");
}

/// Installs the npm packages in a container, which has Node with npm and no compilers.
fn npm_packages_work(engine: &Engine, as_user: &[&str], container: &str) {
    let install = "mkdir /tmp/npm && cd /tmp/npm && HOME=/tmp/npm npm install --silent --offline \
        --no-audit --no-fund /artefacts/prowess-linux-x64-*.tgz /artefacts/prowess-[0-9]*.tgz";
    engine.exec(as_user, container, &["bash", "-c", install]);
    let program = "/tmp/npm/node_modules/.bin/prowess";
    let output = engine.exec(as_user, container, &["/install/smoke.sh", program]);
    assert!(output.contains("== all of it works"), "{output}");
}

/// Runs the commands of docs/containers.md.
fn run_page(engine: &Engine) {
    let client = engine.daemon.docker(&[]);
    let words = std::iter::once(client.get_program()).chain(client.get_args());
    let client: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    // The daemon has no networks.
    let script = format!(
        "set -euo pipefail\n\
         docker() {{ local verb=$1; shift; [ $verb != run ] || set -- --network=none \"$@\"; \
         {} $verb \"$@\"; }}\n{}docker rm --force prowess\n",
        client.join(" "),
        blocks("docs/containers.md", "sh").concat()
    );
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &script])
        .current_dir(engine.checkout.path());
    let shown = succeeded(&mut shell);
    assert_eq!(shown.matches(STRICT).count(), 2, "{shown}");
    assert!(shown.contains("/usr/lib/prowess/runtime"), "{shown}");
}

#[test]
fn without_a_flag_doctor_names_it() {
    if !has_root() {
        return;
    }
    let engine = Engine::start(&[]);
    engine.load();
    let shipped = shipped_flags();
    let without = |part: &str| -> Vec<String> {
        let kept = shipped.iter().filter(|flag| !flag.contains(part));
        let kept: Vec<String> = kept.cloned().collect();
        assert!(kept.len() < shipped.len(), "{part} is not in {shipped:?}");
        kept
    };
    let doctor = |flags: &[String]| {
        let shown = engine.run(flags, &["doctor"]);
        // A table is as wide as its terminal, which here is none.
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shown = doctor(&shipped);
    assert!(shown.contains(STRICT), "{shown}");

    let mut private = without("--cgroupns");
    private.push("--cgroupns=private".to_owned());
    let cases = [
        (Vec::new(), "--security-opt seccomp=seccomp.json"),
        (without("seccomp="), "--security-opt seccomp=seccomp.json"),
        (
            without("systempaths="),
            "--security-opt systempaths=unconfined",
        ),
        (
            without("--volume=/sys/fs/cgroup"),
            "--volume /sys/fs/cgroup:/sys/fs/cgroup",
        ),
        (private, "--cgroupns host"),
        (without("--user="), "--user root"),
    ];
    for (flags, named) in cases {
        let shown = doctor(&flags);
        assert!(!shown.contains(STRICT), "{flags:?}: {shown}");
        let advice = format!("start the container with {named}");
        assert!(shown.contains(&advice), "{flags:?}: {shown}");
    }

    let open = engine.run(&shipped, &["serve"]);
    assert!(open.contains("PROWESS_MASTER_KEY"), "{open}");
    prepares_groups_of_version_2(&engine, &without("--cgroupns"));
}

/// In a folder that looks like control groups of version 2: files are made by writing.
fn prepares_groups_of_version_2(engine: &Engine, flags: &[String]) {
    let groups = tempfile::tempdir().unwrap();
    let file = |name: &str| groups.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(file(name), text).unwrap();
    write("cgroup.controllers", "cpu memory pids\n");
    write("cgroup.procs", "1\n");
    write("cgroup.subtree_control", "");
    write("memory.max", "max\n");
    let flags = flags
        .iter()
        .filter(|flag| !flag.starts_with("--volume=/sys/fs/cgroup"));
    let mut flags: Vec<String> = flags.cloned().collect();
    flags.push("--cgroupns=private".to_owned());
    flags.push(format!(
        "--volume={}:/sys/fs/cgroup",
        groups.path().display()
    ));
    let shown = engine.run(&flags, &["--version"]);
    assert!(shown.starts_with("prowess "), "{shown}");

    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    assert_eq!(read("server/cgroup.procs"), "1\n", "it has moved itself");
    assert_eq!(read("cgroup.subtree_control"), "+cpu +memory +pids\n");
    let owner = |name: &str| {
        let mut stat = Command::new("stat");
        succeeded(stat.args(["--format=%u:%g"]).arg(file(name)))
    };
    let given = ["", "cgroup.procs", "cgroup.subtree_control", "server"];
    for name in given.iter().chain(&["server/cgroup.procs"]) {
        assert_eq!(owner(name).trim(), "10001:10001", "{name}");
    }
    assert_eq!(
        owner("memory.max").trim(),
        "0:0",
        "its limit is not its own"
    );

    // The groups of the host, while the container calls its own "/".
    std::fs::remove_dir_all(file("server")).unwrap();
    write("cgroup.procs", "4321\n");
    write("cgroup.subtree_control", "");
    engine.run(&flags, &["--version"]);
    assert_eq!(read("cgroup.subtree_control"), "", "they are left alone");
    assert!(!file("server").exists());
}

#[test]
fn the_image_has_the_same_bytes_each_time() {
    if !has_root() {
        return;
    }
    let folders = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let sums = |folder: &TempDir| {
        image(folder.path(), &[]);
        std::fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap()
    };
    let [first, second] = folders.each_ref().map(sums);
    assert_eq!(first, second);
    for name in [
        "seccomp.json",
        "compose.yaml",
        "kubernetes.yaml",
        "kubernetes-cluster.yaml",
    ] {
        assert!(first.contains(&format!("  {name}\n")), "{first}");
    }
}

#[test]
fn the_manifests_are_valid() {
    let compose = "docker/usr/lib/python3/dist-packages/compose/config/compose_spec.json";
    let mut check = python("check_manifests.py");
    let checked = succeeded(check.arg(installed(compose)));
    assert_eq!(checked.lines().count(), 3, "{checked}");
}
