//! Attacks through packages: requirements of a skill, code of a package while a layer is
//! built, the files it leaves, and builds that block others.

use crate::package_index::{IndexServer, source, wheel};
use crate::support::{OWNER, TestHost, TestSandbox, Who, everyone, stdout};
use prowess_sandbox::{
    Command, ContainerSpec, Error, Execution, Requirements, SkillFile, SkillFiles,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const VICTIM: &str = "VICTIM-SECRET-55";

/// Lists the packages that a container can see.
const LOOK: &str = "find -L /packages -maxdepth 3 2>/dev/null; grep -rs VICTIM /packages; true";

/// Another tenant's container on the same host, with a secret in it.
fn add_victim(host: &TestHost) {
    let answer = host.ask(json!({ "keep": true, "put": [["secret.txt", VICTIM]] }));
    assert!(answer["session"].is_string(), "{answer}");
}

/// Builds layers beside a victim and returns the error of each, after checking that the
/// victim's files are not visible.
fn build(
    host: &TestHost,
    index: &IndexServer,
    sources: bool,
    layers: &[&str],
) -> Vec<Option<String>> {
    let answer = host.ask(json!({
        "index": index.address, "sources": sources, "layers": layers,
        "runs": [{ "command": { "bash": LOOK } }],
    }));
    let Some(reports) = answer["reports"].as_array() else {
        panic!("{answer}")
    };
    let seen = stdout(&reports[0]);
    let out = ["VICTIM", "container_", "secret.txt", "sessions"];
    assert!(!out.iter().any(|word| seen.contains(word)), "{seen}");
    let failures = answer["layers"].as_array().unwrap().iter();
    failures
        .map(|why| why.as_str().map(str::to_owned))
        .collect()
}

/// The only layer.
fn only_layer(host: &TestHost) -> Option<PathBuf> {
    let layers = fs::read_dir(host.state().join("state/layers")).unwrap();
    let mut layers = layers
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none());
    let only = layers.next();
    assert!(layers.next().is_none());
    only
}

/// Runs one source package's attack on each kind of host.
fn attacked(attack: &str, check: impl Fn(&TestHost, &IndexServer, Option<String>)) {
    for who in everyone() {
        let index = IndexServer::serve(&[source("evilpkg", attack)]);
        let host = TestHost::new(who);
        add_victim(&host);
        let failures = build(&host, &index, true, &["evilpkg==1.0"]);
        assert!(
            index.requests().contains(&"/ran/backend".to_owned()),
            "{who:?}: the attack was made: {failures:?}"
        );
        check(&host, &index, failures.into_iter().next().unwrap());
    }
}

#[test]
fn addresses_in_requirements_are_refused_however_they_are_dressed() {
    let index = IndexServer::serve(&[source("evilpkg", "")]);
    let url = "http://index.test/f/evilpkg-1.0.tar.gz";
    let digest = "0".repeat(64);
    let lines = [
        format!("evilpkg @ {url}#--hash="),
        format!("evilpkg @ {url} --hash=sha256:{digest}"),
        format!("{url} --hash=sha256:{digest}"),
        format!("{url}#sha256={digest}"),
        format!("evilpkg @ {url} ; python_version > '3' --hash=sha256:{digest}"),
        format!("tiny ; os_name == 'x' \\\n{url} --hash=sha256:{digest}"),
        format!("tiny # --hash=sha256:{digest}\u{2028}{url}"),
        "evilpkg-1.0.tar.gz".to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for who in everyone() {
        let host = TestHost::new(who);
        add_victim(&host);
        for (line, why) in lines.iter().zip(build(&host, &index, false, &lines)) {
            assert!(why.unwrap().starts_with("requirement "), "{who:?} {line}");
        }
    }
    assert!(index.requests().is_empty(), "{:?}", index.requests());
}

#[test]
fn a_package_that_names_an_address_runs_no_code_where_sources_are_off() {
    let packages = [
        wheel(
            "innocent",
            "Requires-Dist: evilpkg @ http://index.test/f/evilpkg-1.0.tar.gz\n",
        ),
        source("evilpkg", ""),
    ];
    for who in everyone() {
        let index = IndexServer::serve(&packages);
        let host = TestHost::new(who);
        add_victim(&host);
        let failures = build(&host, &index, false, &["innocent"]);
        let why = failures[0].as_ref().unwrap();
        assert!(why.contains("package_sources"), "{who:?} {why}");
        let requests = index.requests();
        assert!(requests.contains(&"/f/evilpkg-1.0.tar.gz".to_owned()));
        assert!(!requests.iter().any(|path| path.starts_with("/ran")));
        assert!(only_layer(&host).is_none());
    }
}

#[test]
fn modules_that_a_package_plants_are_not_run_by_later_steps() {
    let attack = "
planted = '''import urllib.request, os, shutil
urllib.request.urlopen('http://index.test/ran/planted')
'''
swap = '''import os, shutil
shutil.rmtree('/mnt/data/layer', ignore_errors=True)
os.symlink('../sessions', '/mnt/data/layer')
'''
os.chdir('/mnt/data')
for name in ('compileall', 'py_compile', 'pip', 'runpy', 'os', 'sitecustomize', 'usercustomize'):
    open(name + '.py', 'w').write(swap + planted)
open('setup.cfg', 'w').write('[install]\\nprefix=/mnt/data/evil\\n')
open('pyvenv.cfg', 'w').write('home = /mnt/data\\n')";
    attacked(attack, |host, index, why| {
        assert_eq!(why, None, "{:?}", host.who);
        assert!(!index.requests().contains(&"/ran/planted".to_owned()));
        let layer = only_layer(host).unwrap();
        assert!(fs::symlink_metadata(&layer).unwrap().is_dir());
        assert!(layer.join("evilpkg.py").is_file());
        assert!(layer.join("__pycache__").is_dir(), "and it is compiled");
    });
}

#[test]
fn a_link_in_place_of_the_built_folder_is_no_layer() {
    let attack = "os.mkdir('/mnt/data/elsewhere')\nos.symlink('elsewhere', '/mnt/data/layer')";
    attacked(attack, |host, _, why| {
        let why = why.unwrap();
        assert!(
            why.contains("no folder of packages"),
            "{:?} {why}",
            host.who
        );
        assert!(only_layer(host).is_none());
    });
}

#[test]
fn links_that_leave_a_layer_are_refused() {
    for target in ["/.state/sessions", "a/../../x"] {
        let attack = format!(
            "os.makedirs('/mnt/data/layer/a')\nos.symlink({target:?}, '/mnt/data/layer/b')"
        );
        attacked(&attack, |host, _, why| {
            let why = why.unwrap();
            assert!(
                why.contains("leaves the packages"),
                "{:?} {target}: {why}",
                host.who
            );
            assert!(only_layer(host).is_none());
        });
    }
}

#[test]
fn a_layer_has_no_set_id_programs_or_fifos_and_is_the_servers_own() {
    let attack = "
os.mkdir('/mnt/data/layer')
open('/mnt/data/layer/suid', 'w').write('x')
os.chmod('/mnt/data/layer/suid', 0o6777)
os.mkfifo('/mnt/data/layer/fifo')
os.chmod('/mnt/data/layer', 0o2777)";
    attacked(attack, |host, _, why| {
        // Without those, or refused with a reason.
        let Some(layer) = only_layer(host) else {
            assert!(why.is_some_and(|why| !why.is_empty()), "{:?}", host.who);
            return;
        };
        let owner = fs::metadata(host.state()).unwrap().uid();
        let entries = fs::read_dir(&layer)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        for path in entries.chain([layer.clone()]) {
            let found = fs::symlink_metadata(&path).unwrap();
            assert!(found.is_dir() || found.is_file(), "{}", path.display());
            assert_eq!(found.uid(), owner, "{:?} {}", host.who, path.display());
            let mode = found.permissions().mode();
            assert_eq!(mode & 0o7022, 0, "{} {mode:o}", path.display());
        }
    });
}

#[test]
fn a_link_among_the_servers_own_folders_is_not_followed_into_a_sandbox() {
    for who in everyone() {
        let host = TestHost::new(who);
        add_victim(&host);
        let skill = json!([["pdf", [["a.txt", "fine", false]]]]);
        let request = |container: &Value| {
            json!({
                "session": container, "keep": true, "skills": skill,
                "runs": [{ "command": { "bash": "ls -R /skills" } }],
            })
        };
        let first = host.ask(request(&Value::Null));
        assert!(stdout(&first["reports"][0]).contains("a.txt"), "{first}");
        let kept = host.state().join("state/skills/digest-of-pdf");
        for target in ["../sessions", "/", "../skills/real"] {
            let real = kept.with_file_name("real");
            if fs::symlink_metadata(&kept).unwrap().is_dir() {
                fs::rename(&kept, &real).unwrap();
            } else {
                fs::remove_file(&kept).unwrap();
            }
            symlink(target, &kept).unwrap();
            let answer = host.ask(request(&first["session"]));
            assert_eq!(
                answer["error"],
                json!("sandbox-launch"),
                "{who:?} {target}: {answer}"
            );
        }
    }
}

/// A sandbox in this process that builds from an index.
async fn open(index: &IndexServer) -> TestSandbox {
    TestSandbox::open(|settings| {
        settings.running = 8;
        index.set_as_index(settings);
    })
    .await
}

fn parse_requirements(text: &str) -> Requirements {
    Requirements::parse(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_builds_of_one_tenant_hold_up_nobody_else_and_no_layer_that_is_there() {
    let packages = ["tiny", "slow", "slower", "other"].map(|name| wheel(name, ""));
    let index = IndexServer::serve(&packages);
    let one = open(&index).await;
    let tiny = one
        .sandbox
        .layer("victim", &parse_requirements("tiny"))
        .await
        .unwrap();
    index.close("/simple/slow/");
    let slow = |name: &'static str| {
        let sandbox = one.sandbox.clone();
        tokio::spawn(async move { sandbox.layer("attacker", &parse_requirements(name)).await })
    };
    let first = slow("slow");
    let index = Arc::new(index);
    let waiting = Arc::clone(&index);
    let reached = tokio::task::spawn_blocking(move || waiting.wait_for("/simple/slow/"));
    reached.await.unwrap();
    // All of these wait for the attacker's first, also the one that the victim needs too.
    let behind: Vec<_> = (0..4).map(|_| slow("slower")).collect();
    for tenant in ["victim", "attacker", "another"] {
        let there = one.sandbox.layer(tenant, &parse_requirements("tiny")).await;
        assert_eq!(there.unwrap(), tiny);
    }
    one.sandbox
        .layer("victim", &parse_requirements("other"))
        .await
        .unwrap();
    one.sandbox
        .layer("victim", &parse_requirements("slower"))
        .await
        .unwrap();
    assert!(!first.is_finished());
    index.open("/simple/slow/");
    first.await.unwrap().unwrap();
    for build in behind {
        build.await.unwrap().unwrap();
    }
    let built = index.requests();
    let built = built.iter().filter(|path| path.starts_with("/f/slower"));
    assert_eq!(built.count(), 1, "the same layer is built once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_nobody_waits_for_any_more_leaves_no_container() {
    let index = IndexServer::serve(&[wheel("slow", "")]);
    let one = open(&index).await;
    index.close("/simple/slow/");
    let sandbox = one.sandbox.clone();
    let build = tokio::spawn(async move {
        sandbox
            .layer(OWNER, &parse_requirements("slow"))
            .await
            .map(drop)
    });
    let index = Arc::new(index);
    let waiting = Arc::clone(&index);
    let reached = tokio::task::spawn_blocking(move || waiting.wait_for("/simple/slow/"));
    reached.await.unwrap();
    assert_eq!(one.sandbox.containers().len(), 2);
    build.abort();
    assert!(build.await.is_err());
    while one.sandbox.containers().len() > 1 {
        tokio::task::yield_now().await;
    }
    index.open("/simple/slow/");
    one.sandbox
        .layer(OWNER, &parse_requirements("slow"))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_in_place_of_a_layer_is_neither_found_nor_mounted() {
    let index = IndexServer::serve(&[wheel("tiny", "")]);
    let one = open(&index).await;
    let layer = one
        .sandbox
        .layer(OWNER, &parse_requirements("tiny"))
        .await
        .unwrap();
    let new = ContainerSpec {
        layer: Some(layer),
        ..ContainerSpec::default()
    };
    let container = one.sandbox.create(OWNER, new).await.unwrap();
    let look = || Execution {
        command: Command::Bash("ls /packages/python".into()),
        ..Execution::default()
    };
    let seen = one.sandbox.exec(OWNER, &container, look()).await.unwrap();
    assert!(seen.stdout.text.contains("tiny.py"));
    swap_layers(&one.folder.path().join("state/layers"));
    let refused = one.sandbox.exec(OWNER, &container, look()).await;
    assert!(matches!(refused, Err(Error::LayerGone)), "{refused:?}");
    let refused = one.sandbox.layer(OWNER, &parse_requirements("tiny")).await;
    assert!(refused.is_err(), "and it is not built over the link");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_a_command_takes_on_its_layer_is_seen_by_nobody_else() {
    let index = IndexServer::serve(&[wheel("tiny", "")]);
    let one = open(&index).await;
    let layer = one
        .sandbox
        .layer(OWNER, &parse_requirements("tiny"))
        .await
        .unwrap();
    let new_container = async |owner: &str| {
        let new = ContainerSpec {
            layer: Some(layer.clone()),
            ..ContainerSpec::default()
        };
        one.sandbox.create(owner, new).await.unwrap()
    };
    let (attacker, victim) = (
        new_container("attacker").await,
        new_container("victim").await,
    );
    let lock = "import fcntl, os, time
fds = [os.open(path, os.O_RDONLY) for path in ('/packages/python', '/packages/python/tiny.py')]
for fd in fds: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
print('locked', flush=True)
time.sleep(600)";
    let (stream, mut output) = tokio::sync::mpsc::unbounded_channel();
    let sandbox = one.sandbox.clone();
    let locking = tokio::spawn(async move {
        let execution = Execution {
            command: Command::Python(lock.into()),
            stream: Some(stream),
            ..Execution::default()
        };
        sandbox.exec("attacker", &attacker, execution).await
    });
    assert_eq!(output.recv().await.unwrap().bytes, b"locked\n");
    assert_eq!(
        one.sandbox
            .layer("victim", &parse_requirements("tiny"))
            .await
            .unwrap(),
        layer
    );
    let same = "import fcntl, os, tiny
for path in ('/packages/python', tiny.__file__):
    fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
print(tiny.answer)";
    let execution = Execution {
        command: Command::Python(same.into()),
        ..Execution::default()
    };
    let report = one.sandbox.exec("victim", &victim, execution).await;
    let report = report.unwrap();
    assert_eq!(report.stdout.text, "42\n", "{}", report.stderr.text);
    locking.abort();
}

/// Puts a link to the containers in place of every layer.
fn swap_layers(layers: &Path) {
    for entry in fs::read_dir(layers).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
            symlink("../sessions", &path).unwrap();
        }
    }
}

#[test]
fn a_source_package_finds_what_its_build_requires_though_the_installer_is_isolated() {
    let mut package = source("built", "import tiny\ntell(str(tiny.answer))");
    package["requires"] = json!(["tiny>=1.0"]);
    let index = IndexServer::serve(&[wheel("tiny", ""), package]);
    for who in everyone() {
        let host = TestHost::new(who);
        let failures = build(&host, &index, true, &["built"]);
        assert_eq!(failures, [None], "{who:?}");
        let layer = only_layer(&host).unwrap();
        assert!(layer.join("built.py").is_file() && !layer.join("tiny.py").exists());
    }
    assert!(index.requests().contains(&"/ran/42".to_owned()));
}

#[test]
fn a_build_as_each_user_makes_a_layer_that_its_containers_can_import() {
    let index = IndexServer::serve(&[wheel("tiny", "")]);
    for who in [Who::Root, Who::User] {
        if !everyone().contains(&who) {
            continue;
        }
        let answer = TestHost::new(who).ask(json!({
            "index": index.address, "layers": ["Tiny>=1.0  # small"],
            "put": [["x", "1"]],
            "runs": [{ "command": { "python": "import tiny; print(tiny.answer, tiny.__file__)" } }],
        }));
        assert_eq!(answer["layers"], json!([null]), "{who:?} {answer}");
        let seen = stdout(&answer["reports"][0]);
        assert_eq!(seen, "42 /packages/python/tiny.py\n", "{who:?} {answer}");
    }
}

/// A new container with a skill of this digest, of a file of 1000 bytes.
fn with_skill(digest: &str) -> ContainerSpec {
    let file = SkillFile {
        path: "SKILL.md".into(),
        bytes: vec![b'x'; 1000].into(),
        executable: false,
    };
    let skill = SkillFiles {
        name: "pdf".into(),
        digest: digest.into(),
        files: vec![file],
    };
    ContainerSpec {
        skills: vec![skill],
        ..ContainerSpec::default()
    }
}

/// Digests of the skills that are unpacked.
fn unpacked(one: &TestSandbox) -> Vec<String> {
    let entries = fs::read_dir(one.folder.path().join("state/skills")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != ".lock").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_refused_leaves_no_skill_on_the_disk() {
    let one = TestSandbox::open(|settings| settings.containers_per_tenant = 1).await;
    let refused = one.sandbox.create(OWNER, with_skill("d1")).await;
    assert_eq!(refused.unwrap_err().code(), "too-many-containers");
    assert!(unpacked(&one).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_that_come_and_go_stay_within_their_bound_and_live_ones_stay() {
    const MAX_SKILLS: usize = 6;
    let one = TestSandbox::open(|settings| settings.skill_bytes = 6 * (2 * 4096 + 1000)).await;
    let live = one.sandbox.create(OWNER, with_skill("live")).await.unwrap();
    for number in 0..30 {
        let new = with_skill(&format!("d{number}"));
        let container = if number % 2 == 0 {
            one.sandbox.create("attacker", new).await.unwrap()
        } else {
            let container = one
                .sandbox
                .create("attacker", ContainerSpec::default())
                .await;
            let container = container.unwrap();
            let mounted = one.sandbox.mount("attacker", &container, new.skills).await;
            mounted.unwrap();
            container
        };
        assert!(unpacked(&one).len() <= MAX_SKILLS, "{:?}", unpacked(&one));
        one.sandbox.destroy("attacker", &container).await.unwrap();
    }
    // Containers created concurrently with a skill that is about to be evicted keep it.
    let making = (0..24).map(|number| {
        let sandbox = one.sandbox.clone();
        tokio::spawn(async move {
            let new = with_skill(&format!("d{}", number % 8));
            let container = sandbox.create("attacker", new).await;
            let Ok(container) = container else {
                assert_eq!(container.unwrap_err().code(), "disk-full");
                return;
            };
            let count = Execution {
                command: Command::Bash("wc -c < /skills/pdf/SKILL.md".into()),
                ..Execution::default()
            };
            let report = sandbox.exec("attacker", &container, count).await.unwrap();
            assert_eq!(report.stdout.text.trim(), "1000");
            sandbox.destroy("attacker", &container).await.unwrap();
        })
    });
    for made in making.collect::<Vec<_>>() {
        made.await.unwrap();
    }
    let look = Execution {
        command: Command::Bash("wc -c < /skills/pdf/SKILL.md".into()),
        ..Execution::default()
    };
    let report = one.sandbox.exec(OWNER, &live, look).await.unwrap();
    assert_eq!(report.stdout.text.trim(), "1000");
}

#[test]
fn a_build_that_leaves_what_cannot_be_kept_is_no_layer() {
    let attack = "
os.mkdir('/mnt/data/layer')
for number in range(150):
    open('/mnt/data/layer/a%d.py' % number, 'w').write('x = 1')
os.makedirs('/mnt/data/layer/' + 'z/' * 70)";
    attacked(attack, |host, _, why| {
        let why = why.unwrap();
        assert!(why.contains("cannot be stored"), "{:?} {why}", host.who);
        assert!(only_layer(host).is_none());
    });
}
