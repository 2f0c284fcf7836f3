//! An installation: its steps in their order, each of them made once, and then one rename.

use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::check::{check, host_runs_sandbox};
use super::debian::{self, DOWNLOADS};
use super::definition::RuntimeDefinition;
use super::error::{AtPlace, RuntimeError};
use super::folders::{ROOT, remove_folder};
use super::installation::Installation;
use super::journal::{InstallStep, Journal};
use super::languages;
use super::lock::RuntimeLock;
use super::name::RuntimeName;
use super::prerequisites::{host_suite, missing_prerequisites};
use super::report::{InstallEvent, MissingPrerequisite};
use super::staging_lock::StagingLock;
use super::store::{DEFINITION_FILE, InstalledRuntime, LOCK_FILE, RuntimeStore};
use crate::settings::SandboxSettings;

const PREPARE_FAILED: &str = "cannot prepare the folder of the runtime";

/// The folder of the new build in the staging folder.
const BUILD_FOLDER: &str = "build";

/// Installs a runtime, or continues an installation that did not come to its end. One that is
/// installed from the same list stays, unless it is to be made `again`, with the current
/// versions of its packages. Must not be called within a Tokio runtime.
///
/// # Errors
/// What the host lacks, which step failed, or what does not work in the new runtime.
pub fn install(
    settings: &SandboxSettings,
    name: &RuntimeName,
    definition: &RuntimeDefinition,
    again: bool,
    report: &mut dyn FnMut(InstallEvent),
) -> Result<InstalledRuntime, RuntimeError> {
    let store = RuntimeStore::new(settings);
    let folder = store.folder_of(name);
    make_private(&settings.folder)?;
    fs::create_dir_all(&folder).at_place(PREPARE_FAILED, &folder)?;
    let lock = match StagingLock::try_acquire(&folder)? {
        Some(lock) => lock,
        None => {
            let holder = StagingLock::holder(&folder);
            report(InstallEvent::Waiting { holder });
            StagingLock::acquire(&folder)?
        }
    };
    let installed = store.find(name);
    if let Some(found) = installed.filter(|found| found.definition == *definition && !again) {
        return Ok(found);
    }
    let suite = prepare_host(definition)?;
    let staging = store.staging(name);
    let mut work = Installation {
        settings,
        definition,
        build: staging.join(BUILD_FOLDER),
        staging,
        suite,
        lock: &lock,
        report,
    };
    work.run_steps()?;
    let lock_file = RuntimeLock::read(&work.build.join(ROOT), &work.suite)?;
    let text = serde_json::to_string_pretty(&lock_file).map_err(std::io::Error::other);
    write(
        &work.build.join(LOCK_FILE),
        &text.at_place(PREPARE_FAILED, &work.build)?,
    )?;
    write(&work.build.join(DEFINITION_FILE), &definition.text)?;
    store.activate(name, &work.build)?;
    remove_folder(&work.staging)?;
    store.remove_earlier_builds(name);
    store.find(name).ok_or_else(|| RuntimeError::NotInstalled {
        name: name.to_string(),
    })
}

/// The release to install, if this host has everything that is needed.
fn prepare_host(definition: &RuntimeDefinition) -> Result<String, RuntimeError> {
    let mut missing = missing_prerequisites();
    let suite = definition.debian.suite.clone().or_else(host_suite);
    if suite.is_none() && missing.is_empty() {
        missing.push(MissingPrerequisite {
            what: "the release of this host is not known (/etc/os-release)".to_owned(),
            remedy: "name one in a list of packages: suite under [debian]".to_owned(),
        });
    }
    match suite {
        Some(suite) if missing.is_empty() => Ok(suite),
        _ => Err(RuntimeError::Prerequisites(missing)),
    }
}

impl Installation<'_> {
    fn run_steps(&mut self) -> Result<(), RuntimeError> {
        fs::create_dir_all(&self.staging).at_place(PREPARE_FAILED, &self.staging)?;
        let mut journal = Journal::open(&self.staging, &self.inputs());
        self.discard_stale(&mut journal)?;
        fs::create_dir_all(&self.build).at_place(PREPARE_FAILED, &self.build)?;
        let steps: Vec<InstallStep> = InstallStep::ALL
            .into_iter()
            .filter(|step| self.has_step(*step))
            .collect();
        let count = steps.len();
        for (step, number) in steps.into_iter().zip(1..) {
            let done_before = journal.is_done(step);
            (self.report)(InstallEvent::Step {
                number,
                count,
                title: step.title(),
                done_before,
            });
            if !done_before {
                self.run_step(step)?;
                journal.record(step)?;
            }
        }
        Ok(())
    }

    /// What belongs to another list, or is incomplete, is made again. Downloaded packages
    /// stay: apt knows which of them it needs.
    fn discard_stale(&self, journal: &mut Journal) -> Result<(), RuntimeError> {
        let has_root = self.build.join(ROOT).is_dir();
        let is_lost = journal.is_done(InstallStep::Unpack) && !has_root;
        if !journal.is_empty() && !is_lost {
            return Ok(());
        }
        journal.clear()?;
        let kept = [DOWNLOADS, "journal.json"];
        let entries = fs::read_dir(&self.staging).at_place(PREPARE_FAILED, &self.staging)?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            if kept.iter().any(|kept| name == *kept) {
                continue;
            }
            let place = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_folder(&place)?;
            } else {
                fs::remove_file(&place).at_place(PREPARE_FAILED, &place)?;
            }
        }
        Ok(())
    }

    /// A digest of what is installed.
    fn inputs(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(self.suite.as_bytes());
        digest.update([0]);
        digest.update(self.definition.text.as_bytes());
        let bytes = digest.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn has_step(&self, step: InstallStep) -> bool {
        match step {
            InstallStep::Python => !self.definition.python.packages.is_empty(),
            InstallStep::Npm => !self.definition.npm.packages.is_empty(),
            _ => true,
        }
    }

    fn run_step(&mut self, step: InstallStep) -> Result<(), RuntimeError> {
        match step {
            InstallStep::Download => debian::download(self),
            InstallStep::Bootstrap => debian::bootstrap(self),
            InstallStep::Unpack => debian::unpack(self),
            InstallStep::Python => languages::install_python(self),
            InstallStep::Npm => languages::install_npm(self),
            InstallStep::Check => self.check(),
        }
    }

    fn check(&mut self) -> Result<(), RuntimeError> {
        match check(self.settings, &self.build.join(ROOT), self.definition) {
            Ok(checks) if checks.iter().all(|check| check.ok) => Ok(()),
            Ok(checks) => Err(RuntimeError::Broken(checks)),
            // Everything but the new runtime works.
            Err(error) if host_runs_sandbox(self.settings) => Err(error.into()),
            Err(error) => {
                let reason = error.detail();
                (self.report)(InstallEvent::Unchecked { reason });
                Ok(())
            }
        }
    }
}

/// The sandbox's folder, closed to other users.
fn make_private(folder: &Path) -> Result<(), RuntimeError> {
    fs::create_dir_all(folder).at_place(PREPARE_FAILED, folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).at_place(PREPARE_FAILED, folder)
}

fn write(place: &Path, text: &str) -> Result<(), RuntimeError> {
    fs::write(place, text).at_place(PREPARE_FAILED, place)
}
