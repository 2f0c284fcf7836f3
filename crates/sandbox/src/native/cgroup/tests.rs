//! Control groups of version 2, in a folder that looks like one.

use super::*;
use tempfile::TempDir;

/// A folder that looks like a delegated group of version 2. Here files are made by
/// writing; in the real one they are there, and writing is all that is done.
fn version_2(controllers: &str) -> TempDir {
    let mount = tempfile::tempdir().unwrap();
    fs::create_dir(mount.path().join("ours")).unwrap();
    let control = mount.path().join("ours/cgroup.subtree_control");
    fs::write(control, controllers).unwrap();
    mount
}

fn group(mount: &TempDir) -> Group {
    let hierarchy = Hierarchy::V2(mount.path().join("ours"));
    Group::create(&hierarchy, "test").unwrap()
}

fn folder(group: &Group) -> PathBuf {
    let Hierarchy::V2(folder) = &group.place else {
        panic!("{group:?}")
    };
    folder.clone()
}

#[test]
fn version_2_is_used_where_its_controllers_are_delegated() {
    let mount = version_2("cpu memory pids io\n");
    let found = Hierarchy::find_in(mount.path(), "0::/ours\n", Some("/ours")).unwrap();
    assert_eq!(found, Hierarchy::V2(mount.path().join("ours")));
    assert_eq!(found.version(), "v2");
}

#[test]
fn without_a_setting_the_group_that_a_start_script_was_given_is_used() {
    let mount = version_2("cpu memory pids\n");
    fs::create_dir(mount.path().join("ours/server")).unwrap();
    let find = |own: &str| Hierarchy::find_in(mount.path(), own, None);
    let ours = Hierarchy::V2(mount.path().join("ours"));
    assert_eq!(find("0::/ours/server\n").unwrap(), ours);
    assert!(find("0::/ours/other\n").is_err(), "it was not given");
    let topmost = mount.path().join("cgroup.subtree_control");
    fs::write(topmost, "cpu memory pids\n").unwrap();
    let topmost = Hierarchy::V2(mount.path().to_owned());
    assert_eq!(find("0::/server\n").unwrap(), topmost);
}

#[test]
fn without_all_three_controllers_there_are_no_groups() {
    let mount = version_2("cpu memory\n");
    let refused = Hierarchy::find_in(mount.path(), "0::/ours\n", Some("/ours"));
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("no control groups with memory, pids and cpu"),
        "{message}"
    );
}

#[test]
fn limits_of_version_2_are_written_as_the_kernel_reads_them() {
    let mount = version_2("cpu memory pids\n");
    let group = group(&mount);
    let folder = folder(&group);
    fs::write(folder.join("memory.swap.max"), "max").unwrap();
    let limits = SandboxLimits {
        memory: 256 << 20,
        processes: 30,
        cpu_millis: 500,
        ..SandboxLimits::default()
    };
    group.limit(&limits).unwrap();
    group.add(4321).unwrap();
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("memory.max"), "268435456");
    assert_eq!(
        read("memory.swap.max"),
        "0",
        "or memory would be had from there"
    );
    assert_eq!(read("pids.max"), "32", "with the broker and the init");
    assert_eq!(read("cpu.max"), "50000 100000");
    assert_eq!(read("cgroup.procs"), "4321");
}

#[test]
fn a_tenants_first_command_is_normal_and_those_beside_it_take_what_is_left() {
    let mount = version_2("cpu memory pids\n");
    let group = group(&mount);
    let folder = folder(&group);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    group.set_class(CpuClass::for_command(2)).unwrap();
    assert_eq!(read("cpu.weight"), "1", "on a kernel without idle groups");
    group.set_class(CpuClass::for_command(1)).unwrap();
    assert_eq!(read("cpu.weight"), "100");
    fs::write(folder.join("cpu.idle"), "0").unwrap();
    group.set_class(CpuClass::for_command(2)).unwrap();
    assert_eq!(read("cpu.idle"), "1");
    group.set_class(CpuClass::for_command(1)).unwrap();
    assert_eq!(read("cpu.idle"), "0");
    assert_eq!(read("cpu.weight"), "100");
}

#[test]
fn what_version_2_has_counted_is_read() {
    let mount = version_2("cpu memory pids\n");
    let group = group(&mount);
    let folder = folder(&group);
    assert_eq!(group.counters(), Counters::default());
    let events = "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n";
    fs::write(folder.join("memory.events"), events).unwrap();
    fs::write(folder.join("pids.events"), "max 5\n").unwrap();
    let counted = group.counters();
    assert_eq!((counted.memory_kills, counted.refused_processes), (3, 5));
    let before = Counters {
        memory_kills: 1,
        refused_processes: 5,
    };
    assert_eq!(counted.since(before).memory_kills, 2);
    assert_eq!(counted.since(before).refused_processes, 0);
}

#[test]
fn a_group_that_a_killed_process_with_our_id_left_is_made_anew() {
    let mount = version_2("cpu memory pids\n");
    let name = format!("ours/{GROUP_PREFIX}{}-test", std::process::id());
    fs::create_dir(mount.path().join(&name)).unwrap();
    assert_eq!(folder(&group(&mount)), mount.path().join(&name));
    // With something in it, it is in use.
    fs::create_dir_all(mount.path().join(&name).join("inner")).unwrap();
    let hierarchy = Hierarchy::V2(mount.path().join("ours"));
    assert!(Group::create(&hierarchy, "test").is_err());
}

#[test]
fn groups_of_a_process_that_is_no_more_are_swept_and_others_kept() {
    let mount = version_2("cpu memory pids\n");
    let ours = mount.path().join("ours");
    let living = ours.join(format!("{GROUP_PREFIX}{}-0", std::process::id()));
    let [dead, other] = ["prowess-4294967295-0", "system.slice"].map(|name| ours.join(name));
    for folder in [&living, &dead, &other] {
        fs::create_dir(folder).unwrap();
    }
    Hierarchy::V2(ours).sweep();
    assert!(living.exists() && other.exists() && !dead.exists());
}
