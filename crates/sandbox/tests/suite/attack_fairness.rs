//! One tenant at all of its limits, and another that must be served at once and lose
//! nothing.

use crate::package_index::{IndexServer, wheel};
use crate::support::TestSandbox;
use prowess_sandbox::{
    BusyScope, Command, ContainerSpec, Error, Execution, ExecutionReport, Layer, LimitHit, Policy,
    Requirements, Sandbox, SandboxLimits, SandboxSettings,
};
use std::io::Read;
use std::time::{Duration, Instant};

const GREEDY: &str = "greedy";
const VICTIM: &str = "victim";
const KIB: u64 = 1 << 10;

/// Longer than any test: nothing may be evicted for having been idle.
const NEVER: Duration = Duration::from_secs(100_000);

async fn create(sandbox: &Sandbox, owner: &str) -> Result<String, Error> {
    sandbox.create(owner, ContainerSpec::default()).await
}

async fn put(sandbox: &Sandbox, owner: &str, id: &str, size: u64) -> Result<(), Error> {
    let bytes = vec![b'x'; usize::try_from(size).unwrap()];
    sandbox.put(owner, id, "file", bytes).await
}

async fn bash(
    sandbox: &Sandbox,
    owner: &str,
    id: &str,
    line: &str,
) -> Result<ExecutionReport, Error> {
    let execution = Execution {
        command: Command::Bash(line.into()),
        ..Execution::default()
    };
    sandbox.exec(owner, id, execution).await
}

async fn content(sandbox: &Sandbox, owner: &str, id: &str) -> String {
    let mut text = String::new();
    let file = sandbox.get(owner, id, "file").await;
    file.unwrap().read_to_string(&mut text).unwrap();
    text
}

async fn ids(sandbox: &Sandbox, owner: &str) -> Vec<String> {
    let known = sandbox.containers_of_owner(owner).await.unwrap();
    known.into_iter().map(|one| one.id).collect()
}

/// A sandbox without containers.
async fn open(change: impl FnOnce(&mut SandboxSettings)) -> TestSandbox {
    let one = TestSandbox::open(change).await;
    let owner = crate::support::OWNER;
    one.sandbox.destroy(owner, &one.container).await.unwrap();
    one
}

#[tokio::test]
async fn a_tenant_that_fills_its_disk_loses_its_own_oldest_and_no_one_elses() {
    let one = open(|settings| {
        settings.disk_bytes = 500 * KIB;
        settings.evict_idle = Duration::ZERO;
    })
    .await;
    let sandbox = &one.sandbox;
    // The oldest of all.
    let victim = create(sandbox, VICTIM).await.unwrap();
    put(sandbox, VICTIM, &victim, 50).await.unwrap();
    for _ in 0..8 {
        let id = create(sandbox, GREEDY).await.unwrap();
        put(sandbox, GREEDY, &id, 100 * KIB).await.unwrap();
    }
    assert_eq!(
        ids(sandbox, GREEDY).await.len(),
        2,
        "of 250 KiB, half of all"
    );
    assert_eq!(content(sandbox, VICTIM, &victim).await.len(), 50);
    let other = create(sandbox, VICTIM).await.unwrap();
    put(sandbox, VICTIM, &other, 100 * KIB).await.unwrap();
    assert_eq!(ids(sandbox, VICTIM).await.len(), 2);
    assert_eq!(
        ids(sandbox, GREEDY).await.len(),
        2,
        "there is room for both"
    );
}

#[tokio::test]
async fn a_tenant_whose_containers_are_all_in_use_is_refused_and_sees_which_limit() {
    let one = open(|settings| {
        settings.disk_bytes = 500 * KIB;
        settings.evict_idle = NEVER;
    })
    .await;
    let sandbox = &one.sandbox;
    let victim = create(sandbox, VICTIM).await.unwrap();
    let greedy = create(sandbox, GREEDY).await.unwrap();
    put(sandbox, GREEDY, &greedy, 200 * KIB).await.unwrap();
    let second = create(sandbox, GREEDY).await.unwrap();
    let refused = put(sandbox, GREEDY, &second, 100 * KIB).await.unwrap_err();
    assert_eq!(refused.code(), "disk-full");
    assert!(
        refused.to_string().contains("tenant_disk_size"),
        "{refused}"
    );
    // By a command as well: what does not fit is not stored, and reported.
    let line = "head -c 100000 /dev/zero > big; echo small > small";
    let report = bash(sandbox, GREEDY, &second, line).await.unwrap();
    assert_eq!(report.hits, [LimitHit::Data]);
    let kept = sandbox.list(GREEDY, &second).await.unwrap();
    assert!(kept.iter().all(|file| file.path == "small"), "{kept:?}");
    put(sandbox, VICTIM, &victim, 200 * KIB).await.unwrap();
    assert_eq!(content(sandbox, GREEDY, &greedy).await.len(), 200 << 10);
    // Removing frees space at once.
    sandbox.destroy(GREEDY, &greedy).await.unwrap();
    put(sandbox, GREEDY, &second, 100 * KIB).await.unwrap();
}

#[tokio::test]
async fn bytes_that_a_container_cannot_store_take_no_space_from_others() {
    let one = open(|settings| {
        settings.disk_bytes = 4_000 * KIB;
        settings.evict_idle = Duration::ZERO;
    })
    .await;
    let sandbox = &one.sandbox;
    let limits = SandboxLimits {
        data_bytes: 500 * KIB,
        ..SandboxLimits::default()
    };
    let policy = Policy {
        limits,
        ..Policy::default()
    };
    let other = create(sandbox, GREEDY).await.unwrap();
    put(sandbox, GREEDY, &other, 50).await.unwrap();
    // Together far more than the tenant may have, and than one container may store.
    for line in [
        "truncate -s 400K f{1..50}",
        "head -c 400K /dev/zero > g; for i in {1..50}; do ln g l$i; done",
    ] {
        let id = sandbox.create(GREEDY, policy.clone().into()).await.unwrap();
        let report = bash(sandbox, GREEDY, &id, line).await.unwrap();
        assert_eq!(report.hits, [LimitHit::Data], "{line}");
        assert_eq!(sandbox.list(GREEDY, &id).await.unwrap().len(), 1, "{line}");
    }
    assert_eq!(content(sandbox, GREEDY, &other).await.len(), 50);
    assert_eq!(ids(sandbox, GREEDY).await.len(), 3);
}

#[tokio::test]
async fn one_within_its_share_takes_space_at_once_from_those_above_theirs() {
    let one = open(|settings| {
        settings.disk_bytes = 600 * KIB;
        settings.tenant_disk_bytes = Some(600 * KIB);
        settings.evict_idle = NEVER;
    })
    .await;
    let sandbox = &one.sandbox;
    let small = create(sandbox, "small").await.unwrap();
    put(sandbox, "small", &small, 100 * KIB).await.unwrap();
    for _ in 0..3 {
        let id = create(sandbox, GREEDY).await.unwrap();
        put(sandbox, GREEDY, &id, 110 * KIB).await.unwrap();
    }
    let refused = async {
        let id = create(sandbox, GREEDY).await?;
        put(sandbox, GREEDY, &id, 110 * KIB).await
    };
    let refused = refused.await.unwrap_err();
    assert_eq!(refused.code(), "disk-full");
    assert!(refused.to_string().contains("(disk_size)"), "{refused}");
    let victim = create(sandbox, VICTIM).await.unwrap();
    put(sandbox, VICTIM, &victim, 150 * KIB).await.unwrap();
    assert_eq!(content(sandbox, VICTIM, &victim).await.len(), 150 << 10);
    assert_eq!(content(sandbox, "small", &small).await.len(), 100 << 10);
    // One with a file, and maybe the one without, used in the same second.
    let left = ids(sandbox, GREEDY).await.len();
    assert!((2..4).contains(&left), "{left} of four");
    // And keeps it: an owner above its share loses its own.
    for _ in 0..3 {
        let more = async {
            let id = create(sandbox, GREEDY).await?;
            put(sandbox, GREEDY, &id, 200 * KIB).await
        };
        let _ = more.await;
    }
    assert_eq!(content(sandbox, VICTIM, &victim).await.len(), 150 << 10);
    assert_eq!(content(sandbox, "small", &small).await.len(), 100 << 10);
}

#[tokio::test]
async fn a_build_container_takes_from_its_tenant_and_not_from_anothers_share() {
    let builder = format!("\0layers {GREEDY}");
    let one = open(|settings| {
        settings.disk_bytes = 600 * KIB;
        settings.tenant_disk_bytes = Some(600 * KIB);
        settings.evict_idle = NEVER;
    })
    .await;
    let sandbox = &one.sandbox;
    // Less than a half of all, and more than a third.
    let victim = create(sandbox, VICTIM).await.unwrap();
    put(sandbox, VICTIM, &victim, 230 * KIB).await.unwrap();
    let greedy = create(sandbox, GREEDY).await.unwrap();
    put(sandbox, GREEDY, &greedy, 190 * KIB).await.unwrap();
    let build = create(sandbox, &builder).await.unwrap();
    let refused = put(sandbox, &builder, &build, 150 * KIB).await.unwrap_err();
    assert_eq!(refused.code(), "disk-full");
    assert_eq!(content(sandbox, VICTIM, &victim).await.len(), 230 << 10);
    // Only the builder can list or use it.
    assert_eq!(ids(sandbox, GREEDY).await, [greedy]);
    let other = put(sandbox, GREEDY, &build, 1).await.unwrap_err();
    assert_eq!(other.code(), "container-not-found");
    assert_eq!(ids(sandbox, &builder).await, [build]);
}

#[tokio::test]
async fn a_tenants_containers_are_bounded_and_another_gets_its_own() {
    let one = open(|settings| {
        settings.containers_per_tenant = 5;
        settings.evict_idle = NEVER;
    })
    .await;
    let sandbox = &one.sandbox;
    for _ in 0..5 {
        create(sandbox, GREEDY).await.unwrap();
    }
    let refused = create(sandbox, GREEDY).await.unwrap_err();
    assert_eq!(refused.code(), "too-many-containers");
    assert!(
        refused.to_string().contains("containers_per_tenant"),
        "{refused}"
    );
    let victim = create(sandbox, VICTIM).await.unwrap();
    assert_eq!(ids(sandbox, VICTIM).await, [victim]);
    assert_eq!(ids(sandbox, GREEDY).await.len(), 5);
    // The limit also holds for a server that starts later.
    let again = TestSandbox::open_in(one.folder.clone(), |settings| {
        settings.containers_per_tenant = 5;
        settings.evict_idle = NEVER;
    })
    .await;
    let refused = create(&again.sandbox, GREEDY).await.unwrap_err();
    assert_eq!(refused.code(), "too-many-containers");
    create(&again.sandbox, VICTIM).await.unwrap();
}

#[tokio::test]
async fn a_new_container_takes_the_place_of_the_tenants_own_idle_one() {
    let one = open(|settings| {
        settings.containers_per_tenant = 3;
        settings.evict_idle = Duration::ZERO;
    })
    .await;
    let sandbox = &one.sandbox;
    let victim = create(sandbox, VICTIM).await.unwrap();
    for _ in 0..40 {
        create(sandbox, GREEDY).await.unwrap();
    }
    assert_eq!(ids(sandbox, GREEDY).await.len(), 3);
    assert_eq!(ids(sandbox, VICTIM).await, [victim]);
    let left = std::fs::read_dir(one.folder.path().join("state/sessions")).unwrap();
    assert_eq!(left.count(), 4, "nothing of the others is left on the disk");
}

#[tokio::test]
async fn a_container_in_use_is_not_evicted() {
    let one = open(|settings| {
        settings.containers_per_tenant = 1;
        settings.evict_idle = Duration::ZERO;
    })
    .await;
    let sandbox = &one.sandbox;
    let id = create(sandbox, GREEDY).await.unwrap();
    let run = start(sandbox, GREEDY, &id).await;
    let refused = create(sandbox, GREEDY).await.unwrap_err();
    assert_eq!(refused.code(), "too-many-containers");
    run.abort();
}

#[tokio::test]
async fn many_creations_at_once_do_not_go_over_the_bound() {
    let one = open(|settings| {
        settings.containers_per_tenant = 4;
        settings.evict_idle = NEVER;
    })
    .await;
    let all: Vec<_> = (0..32)
        .map(|_| {
            let sandbox = one.sandbox.clone();
            tokio::spawn(async move { create(&sandbox, GREEDY).await.is_ok() })
        })
        .collect();
    let mut made = 0;
    for one in all {
        made += usize::from(one.await.unwrap());
    }
    assert_eq!(made, 4);
    assert_eq!(ids(&one.sandbox, GREEDY).await.len(), 4);
}

#[tokio::test]
async fn what_a_tenant_has_is_known_without_reading_all_of_it() {
    let one = open(|settings| {
        settings.containers_per_tenant = 30;
        settings.evict_idle = NEVER;
    })
    .await;
    let sandbox = &one.sandbox;
    for _ in 0..30 {
        let id = create(sandbox, GREEDY).await.unwrap();
        let place = one.folder.path().join("state/sessions").join(id);
        std::fs::write(place.join("meta.json"), "cannot be read").unwrap();
    }
    let refused = create(sandbox, GREEDY).await.unwrap_err();
    assert_eq!(refused.code(), "too-many-containers");
    create(sandbox, VICTIM).await.unwrap();
}

#[tokio::test]
async fn servers_that_share_a_folder_know_of_each_others_containers() {
    let change = |settings: &mut SandboxSettings| {
        settings.containers_per_tenant = 3;
        settings.evict_idle = NEVER;
    };
    let one = open(change).await;
    let other = TestSandbox::open_in(one.folder.clone(), change).await;
    for _ in 0..3 {
        create(&one.sandbox, GREEDY).await.unwrap();
    }
    assert_eq!(ids(&other.sandbox, GREEDY).await.len(), 3);
    let refused = create(&other.sandbox, GREEDY).await.unwrap_err();
    assert_eq!(refused.code(), "too-many-containers");
    let gone = ids(&other.sandbox, GREEDY).await.remove(0);
    other.sandbox.destroy(GREEDY, &gone).await.unwrap();
    assert_eq!(ids(&one.sandbox, GREEDY).await.len(), 2);
    create(&one.sandbox, GREEDY).await.unwrap();
}

#[tokio::test]
async fn what_has_expired_frees_space_whoever_it_belonged_to() {
    let one = open(|settings| {
        settings.disk_bytes = 300 * KIB;
        settings.tenant_disk_bytes = Some(300 * KIB);
        settings.evict_idle = NEVER;
    })
    .await;
    let sandbox = &one.sandbox;
    let old = create(sandbox, "old").await.unwrap();
    put(sandbox, "old", &old, 100 * KIB).await.unwrap();
    let victim = create(sandbox, VICTIM).await.unwrap();
    let refused = put(sandbox, VICTIM, &victim, 200 * KIB).await.unwrap_err();
    assert_eq!(refused.code(), "disk-full");
    let place = one.folder.path().join("state/sessions").join(&old);
    let place = place.join("meta.json");
    let text = std::fs::read_to_string(&place).unwrap();
    let mut meta: serde_json::Value = serde_json::from_str(&text).unwrap();
    meta["used"] = 0.into();
    std::fs::write(&place, meta.to_string()).unwrap();
    assert_eq!(sandbox.containers().len(), 1);
    put(sandbox, VICTIM, &victim, 200 * KIB).await.unwrap();
}

/// Starts a command that runs until it is killed.
async fn start(
    sandbox: &Sandbox,
    owner: &'static str,
    id: &str,
) -> tokio::task::JoinHandle<Result<ExecutionReport, Error>> {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let execution = Execution {
        command: Command::Bash("echo started; sleep 600".into()),
        stream: Some(sender),
        ..Execution::default()
    };
    let (sandbox, id) = (sandbox.clone(), id.to_owned());
    let run = tokio::spawn(async move { sandbox.exec(owner, &id, execution).await });
    receiver.recv().await.unwrap();
    run
}

/// Queues more commands of a tenant, and returns when that many wait.
async fn wait(
    sandbox: &Sandbox,
    owner: &'static str,
    waiting: usize,
) -> tokio::task::JoinHandle<Result<ExecutionReport, Error>> {
    let id = create(sandbox, owner).await.unwrap();
    let run = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { bash(&sandbox, owner, &id, "true").await }
    });
    while sandbox.load().1 < waiting {
        tokio::task::yield_now().await;
    }
    run
}

#[tokio::test]
async fn a_tenant_that_runs_all_it_may_leaves_a_place_for_another() {
    let one = open(|settings| (settings.running, settings.waiting) = (2, 2)).await;
    let sandbox = &one.sandbox;
    let id = create(sandbox, GREEDY).await.unwrap();
    let victim = create(sandbox, VICTIM).await.unwrap();
    let run = start(sandbox, GREEDY, &id).await;
    let line = [
        wait(sandbox, GREEDY, 1).await,
        wait(sandbox, GREEDY, 2).await,
    ];
    let more = create(sandbox, GREEDY).await.unwrap();
    let refused = bash(sandbox, GREEDY, &more, "true").await.unwrap_err();
    let Error::Busy { scope, waiting, .. } = refused else {
        panic!("{refused}")
    };
    assert_eq!((scope, waiting), (BusyScope::Tenant, 2));
    assert!(refused.to_string().contains("this tenant has"), "{refused}");
    assert!(refused.retry_after().is_some());
    let report = bash(sandbox, VICTIM, &victim, "echo mine").await.unwrap();
    assert_eq!(report.stdout.text, "mine\n");
    run.abort();
    for one in line {
        one.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_tenant_that_fills_the_line_gives_its_last_place_to_another() {
    let one = open(|settings| (settings.running, settings.waiting) = (1, 2)).await;
    let sandbox = &one.sandbox;
    let id = create(sandbox, GREEDY).await.unwrap();
    let victim = create(sandbox, VICTIM).await.unwrap();
    let run = start(sandbox, GREEDY, &id).await;
    let [first, last] = [
        wait(sandbox, GREEDY, 1).await,
        wait(sandbox, GREEDY, 2).await,
    ];
    let waiting_command = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { bash(&sandbox, VICTIM, &victim, "echo mine").await }
    });
    let refused = last.await.unwrap().unwrap_err();
    assert_eq!(refused.code(), "busy");
    assert!(refused.to_string().contains("the server has"), "{refused}");
    run.abort();
    assert_eq!(
        waiting_command.await.unwrap().unwrap().stdout.text,
        "mine\n"
    );
    first.await.unwrap().unwrap();
}

/// Requests the layer of one package, and returns when that many commands wait.
async fn wait_for_layer(
    sandbox: &Sandbox,
    owner: &'static str,
    package: &'static str,
    waiting: usize,
) -> tokio::task::JoinHandle<Result<Layer, Error>> {
    let requirements = Requirements::parse(package).unwrap();
    let sandbox = sandbox.clone();
    let build = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { sandbox.layer(owner, &requirements).await }
    });
    while sandbox.load().1 < waiting {
        tokio::task::yield_now().await;
    }
    build
}

#[tokio::test(flavor = "multi_thread")]
async fn builds_that_wait_for_their_tenants_commands_hold_up_no_builds_of_others() {
    let packages = ["known", "first", "second", "third"].map(|name| wheel(name, ""));
    let index = IndexServer::serve(&packages);
    let one = open(|settings| {
        // Two builds at once.
        settings.running = 4;
        settings.commands_per_tenant = Some(1);
        index.set_as_index(settings);
    })
    .await;
    let sandbox = &one.sandbox;
    let layer = async |owner: &str, package: &str| {
        let requirements = Requirements::parse(package).unwrap();
        let layer = sandbox.layer(owner, &requirements);
        // A build takes seconds; those before it wait for commands that never end.
        let built = tokio::time::timeout(Duration::from_secs(90), layer).await;
        built.expect("it waits for another tenant").unwrap()
    };
    layer(VICTIM, "known").await;
    let (id, other) = (
        create(sandbox, GREEDY).await.unwrap(),
        create(sandbox, "other").await.unwrap(),
    );
    let runs = [
        start(sandbox, GREEDY, &id).await,
        start(sandbox, "other", &other).await,
    ];
    let builds = [
        wait_for_layer(sandbox, GREEDY, "first", 1).await,
        wait_for_layer(sandbox, "other", "second", 2).await,
    ];
    // One that a waiting build needs as well, and one that needs only a place.
    let first = layer(VICTIM, "first").await;
    layer(VICTIM, "third").await;
    assert!(builds.iter().all(|build| !build.is_finished()));
    for run in runs {
        run.abort();
    }
    let [same, second] = builds;
    assert_eq!(same.await.unwrap().unwrap(), first);
    second.await.unwrap().unwrap();
    let built = index.requests();
    let built = built.iter().filter(|path| path.starts_with("/f/first"));
    assert_eq!(built.count(), 1, "the same layer is built once");
}

/// Whether the control group of each command that [`start`] has started is an idle one.
///
/// A process that is just becoming another program has no command line for a moment, so
/// they are looked for until there are as many as expected.
async fn idle_groups(expected: usize) -> Vec<bool> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let groups = running_groups();
        if groups.len() == expected || Instant::now() > until {
            return groups;
        }
        tokio::task::yield_now().await;
    }
}

fn running_groups() -> Vec<bool> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let version_1 = own.lines().find_map(|line| {
        let (names, path) = line.split_once(':')?.1.split_once(':')?;
        let is_cpu = names.split(',').any(|name| name == "cpu");
        is_cpu.then(|| format!("/sys/fs/cgroup/cpu{path}"))
    });
    let folder = version_1.unwrap_or_else(|| "/sys/fs/cgroup".to_owned());
    let prefix = format!("prowess-{}-", std::process::id());
    let mut idle = Vec::new();
    for group in std::fs::read_dir(folder).unwrap() {
        let group = group.unwrap();
        if !group.file_name().to_string_lossy().starts_with(&prefix) {
            continue;
        }
        let read = |name: &str| std::fs::read_to_string(group.path().join(name)).unwrap();
        let runs = |pid: &str| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
            line.is_ok_and(|line| line.contains("sleep"))
        };
        if read("cgroup.procs").lines().any(runs) {
            idle.push(read("cpu.idle").trim() == "1");
        }
    }
    idle.sort_unstable();
    idle
}

#[tokio::test]
async fn a_tenant_with_many_commands_has_the_processor_time_of_one_before_others() {
    let one = open(|settings| settings.running = 4).await;
    let sandbox = &one.sandbox;
    let [first, second] = [
        create(sandbox, GREEDY).await.unwrap(),
        create(sandbox, GREEDY).await.unwrap(),
    ];
    let victim = create(sandbox, VICTIM).await.unwrap();
    let mut runs = vec![start(sandbox, GREEDY, &first).await];
    assert_eq!(idle_groups(1).await, [false]);
    runs.push(start(sandbox, GREEDY, &second).await);
    assert_eq!(
        idle_groups(2).await,
        [false, true],
        "its second takes what is left"
    );
    runs.push(start(sandbox, VICTIM, &victim).await);
    assert_eq!(
        idle_groups(3).await,
        [false, false, true],
        "another's first does not"
    );
    for run in runs {
        run.abort();
        assert!(run.await.is_err_and(|error| error.is_cancelled()));
    }
    // A reused group is normal again.
    let report = bash(sandbox, GREEDY, &second, "true").await.unwrap();
    assert_eq!(report.hits, []);
    let run = start(sandbox, GREEDY, &second).await;
    assert_eq!(idle_groups(1).await, [false]);
    run.abort();
}
