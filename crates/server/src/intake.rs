//! An uploaded form to a checked and scanned skill.

use prowess_skill::scan::{self, ScanLimits, Subject};
use prowess_skill::{Bundle, Limits, Options, Profile, Skill};
use prowess_store::Scan;
use prowess_wire::excerpt;

use crate::error::{ApiError, invalid_skill};
use crate::form::Part;

/// Endings by which a file says that it is an archive.
const ARCHIVES: [&str; 4] = [".zip", ".skill", ".tar.gz", ".tgz"];

/// A skill that may be stored.
pub(crate) struct Intake {
    pub(crate) skill: Skill,
    pub(crate) scan: Scan,
}

/// Unpacks, checks and scans. All of it is work for the processor, so it runs where
/// it holds up no other request.
pub(crate) async fn take(files: Vec<Part>, limits: &Limits) -> Result<Intake, ApiError> {
    let limits = limits.clone();
    let work = tokio::task::spawn_blocking(move || check(files, limits));
    let done = work.await;
    done.map_err(|error| ApiError::internal("intake", &error))?
}

fn check(files: Vec<Part>, limits: Limits) -> Result<Intake, ApiError> {
    let bundle = bundle(files, &limits)?;
    let options = Options {
        limits,
        profile: Profile::Upload,
        ..Options::default()
    };
    let loaded = Skill::load(bundle, &options);
    let valid = loaded.is_valid();
    let Some(skill) = loaded.skill.filter(|_| valid) else {
        return Err(invalid_skill(&loaded.diagnostics));
    };
    let report = scan::scan(&Subject::of(&skill), &ScanLimits::default());
    let scan = Scan::of(&report)?;
    Ok(Intake { skill, scan })
}

/// One archive, or loose files.
fn bundle(mut files: Vec<Part>, limits: &Limits) -> Result<Bundle, ApiError> {
    if files.len() == 1
        && let Some(one) = files.pop_if(|one| is_archive(one))
    {
        return Ok(Bundle::from_archive(&one.data, limits)?);
    }
    distinct(&files)?;
    let loose = files.into_iter().map(|file| (file.name, file.data, false));
    Ok(Bundle::from_files(loose, limits)?)
}

fn is_archive(file: &Part) -> bool {
    let name = file.name.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| name.ends_with(ending))
        || file.data.starts_with(b"PK\x03\x04")
        || file.data.starts_with(&[0x1f, 0x8b])
}

/// One of the SDKs drops the folders of file names; then names may collide.
fn distinct(files: &[Part]) -> Result<(), ApiError> {
    let mut names = std::collections::HashSet::new();
    let Some(twice) = files.iter().find(|file| !names.insert(&file.name)) else {
        return Ok(());
    };
    let message = format!(
        "skill upload refused: two files are called `{}`. If they lie in different folders, your \
         client has dropped the folders from their names: send the skill as one zip instead",
        excerpt(&twice.name)
    );
    Err(ApiError::bad_request("skill-names-collide", message)
        .with("file", excerpt(&twice.name).to_string()))
}
