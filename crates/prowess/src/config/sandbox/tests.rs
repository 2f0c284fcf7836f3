//! What `[sandbox]` may have, and what becomes of it.

use std::path::Path;

use prowess_sandbox::{RuntimeSource, SandboxLimits, SandboxSettings};

use crate::config::{Config, ConfigOverrides};

fn read(text: &str) -> Result<super::SandboxConfig, String> {
    let overrides = ConfigOverrides {
        data_dir: Some("/data".into()),
        ..ConfigOverrides::default()
    };
    let text = format!("[sandbox]\n{text}\n");
    let config = Config::read(&text, Path::new(""), &overrides);
    config
        .map(|config| config.sandbox)
        .map_err(|error| error.to_string())
}

#[test]
fn commands_run_natively_and_strictly_by_default() {
    let sandbox = read("").unwrap();
    assert_eq!(sandbox.backend, super::BackendSetting::Native);
    let settings = sandbox.settings(sandbox.backend).unwrap();
    assert!(!settings.allow_reduced && settings.packages.is_none());
    assert_eq!(settings.folder, Path::new("/data/sandbox"));
    let off = read("backend = \"off\"").unwrap();
    assert!(off.settings(off.backend).is_none());
}

#[test]
fn a_reduced_sandbox_is_accepted_in_the_file_or_outside_of_it() {
    let accepts = |text: &str, reduced: bool| {
        let overrides = ConfigOverrides {
            data_dir: Some("/data".into()),
            reduced,
            ..ConfigOverrides::default()
        };
        let config = Config::read(text, Path::new(""), &overrides).unwrap();
        let settings = config.sandbox.settings(config.sandbox.backend);
        settings.unwrap().allow_reduced
    };
    for file in ["", "[sandbox]\nreduced = false\n"] {
        assert!(!accepts(file, false), "{file}");
        assert!(accepts(file, true), "{file}");
    }
    assert!(accepts("[sandbox]\nreduced = true\n", false));
}

/// The settings by present and by earlier names.
const PRESENT: &str = "tenant_disk_size = 16\nlayers_size = 18\nskills_size = 19\n\
    containers_per_tenant = 15\ncontainer_entries = 17\n\
    idle_timeout = \"4s\"\nlifetime = \"5s\"\ndisk_size = 6\ncommand_timeout = \"7s\"\n\
    memory = \"16M\"\ndata_size = 11\ntmp_size = 12\n";
const EARLIER: &str = "tenant_disk_bytes = 16\nlayer_bytes = 18\nskill_bytes = 19\n\
    sessions_per_tenant = 15\nsession_entries = 17\n\
    idle_seconds = 4\nlife_seconds = 5\ndisk_bytes = 6\ntimeout_seconds = 7\n\
    memory_bytes = 16777216\ndata_bytes = 11\ntmp_bytes = 12\n";

fn read_all(renamed: &str) -> super::SandboxConfig {
    let text = "backend = \"docker\"\nreduced = true\nruntime = \"/srv/root\"\ncgroup = \"mine\"\n\
         docker_socket = \"/s\"\ndocker_image = \"i\"\nrunning = 1\nwaiting = 2\nwarm = 3\n\
         commands_per_tenant = 13\nwaiting_per_tenant = 14\nprocesses = 9\ncpu_millis = 10\n\
         package_index = \"http://index.test:8080/simple\"\npackage_hosts = [\"files.test\"]\n\
         open_tls = false\nextra_ca_file = \"/srv/ca.pem\"\n\
         package_sources = true\nnpm_registry = \"http://npm.test/\"";
    read(&format!("{renamed}{text}")).unwrap()
}

#[test]
fn every_key_of_the_sandbox_is_read() {
    let sandbox = read_all(PRESENT);
    insta::assert_debug_snapshot!(sandbox.limits);
    let mut settings = sandbox.settings(sandbox.backend).unwrap();
    settings.launcher = "self".into();
    insta::assert_debug_snapshot!(settings);
}

#[test]
fn earlier_names_of_settings_are_still_read() {
    let (present, earlier) = (read_all(PRESENT), read_all(EARLIER));
    assert_eq!(format!("{present:?}"), format!("{earlier:?}"));
    for (present, earlier) in PRESENT.lines().zip(EARLIER.lines()) {
        let message = read(&format!("{present}\n{earlier}")).unwrap_err();
        let (present, _) = present.split_once(' ').unwrap();
        let (earlier, _) = earlier.split_once(' ').unwrap();
        let expected = format!(
            "line 3: `sandbox.{earlier}` is an earlier name of `{present}`, and both are set; \
             remove one"
        );
        assert_eq!(message, expected);
    }
}

#[test]
fn defaults_are_those_of_the_sandbox() {
    let sandbox = read("").unwrap();
    assert_eq!(
        format!("{:?}", sandbox.limits),
        format!("{:?}", SandboxLimits::default())
    );
    let settings = sandbox.settings(sandbox.backend).unwrap();
    let expected = SandboxSettings::new("/data/sandbox");
    assert_eq!(format!("{settings:?}"), format!("{expected:?}"));
    let docker = sandbox.settings(super::BackendSetting::Docker).unwrap();
    let expected = format!("{:?}", prowess_sandbox::DockerSettings::default());
    assert_eq!(
        format!("{:?}", docker.backend),
        format!("Docker({expected})")
    );
}

#[test]
fn a_runtime_is_named_or_a_path() {
    let runtime = |text: &str| {
        let sandbox = read(&format!("runtime = \"{text}\"")).unwrap();
        sandbox.settings(sandbox.backend).unwrap().runtime
    };
    assert!(matches!(runtime("full"), RuntimeSource::Installed(name) if name.as_str() == "full"));
    assert_eq!(runtime("./full"), RuntimeSource::Folder("./full".into()));
}

#[test]
fn mistakes_in_the_sandbox_are_reported() {
    let refused = |text| read(text).unwrap_err();
    insta::assert_snapshot!(refused("backend = \"podman\""), @"line 2: sandbox.backend: `podman` is not one of native, docker, off");
    insta::assert_snapshot!(refused("bakend = \"off\""), @"line 2: `sandbox.bakend` is not a setting; did you mean `backend`?");
    insta::assert_snapshot!(refused("memory_bytes = 0"), @"line 2: sandbox.memory: no command can run with 0");
    insta::assert_snapshot!(refused("warm = 1\nmemory = \"5K\""), @"line 3: sandbox.memory: no command can run with 5K; give at least 16M");
    insta::assert_snapshot!(refused("command_timeout = 0"), @"line 2: sandbox.command_timeout: no command can run with 0");
    insta::assert_snapshot!(refused("cpu_millis = 9"), @"line 2: sandbox.cpu_millis: no command can run with 9; give at least 10");
    insta::assert_snapshot!(refused("runtime = \"Full\""), @"line 2: sandbox.runtime: `Full` is not the name of a runtime: use lower-case letters, digits and hyphens; a path has a slash (./Full)");
    insta::assert_snapshot!(refused("running = 0"), @r#"line 2: sandbox.running: nothing could run; use backend = "off" to disable the sandbox"#);
    insta::assert_snapshot!(refused("containers_per_tenant = 0"), @r#"line 2: sandbox.containers_per_tenant: nothing could run; use backend = "off" to disable the sandbox"#);
    insta::assert_snapshot!(refused("npm_registry = \"npm\""), @"line 2: sandbox.npm_registry: `npm` is not the address of an npm registry, for instance https://host/npm");
    insta::assert_snapshot!(refused("package_index = \"pypi\""), @"line 2: sandbox.package_index: `pypi` is not the address of a package index, for instance https://host/simple");
}
