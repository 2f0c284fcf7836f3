//! Checks and scans an uploaded skill.

use std::sync::Arc;

use prowess_skill::scan::{self, ScanLimits, Subject};
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Profile, Skill};
use prowess_store::ScanRecord;
use prowess_wire::excerpt;

use crate::error::{HttpError, invalid_skill};
use crate::form::FormFile;
use crate::form::transfers::TransferPermit;
use crate::permitted_work::run_with_permit;

/// File extensions of archives.
const ARCHIVE_EXTENSIONS: [&str; 4] = [".zip", ".skill", ".tar.gz", ".tgz"];

/// A skill that passed the checks and may be stored.
pub(crate) struct UploadedSkill {
    pub(crate) skill: Skill,
    pub(crate) scan: ScanRecord,
}

/// Unpacks, checks and scans. All of it is CPU-bound, so it runs on a blocking thread.
pub(crate) async fn check_upload(
    files: Vec<FormFile>,
    limits: &BundleLimits,
    permit: &Arc<TransferPermit>,
) -> Result<UploadedSkill, HttpError> {
    let limits = limits.clone();
    let work = run_with_permit(Arc::clone(permit), move || {
        let bundle = read_bundle(files, &limits)?;
        check_blocking(bundle, None, limits)
    });
    let done = work.await;
    let (checked, _permit) = done.map_err(|error| HttpError::internal("intake", &error))?;
    checked
}

/// Checks and scans the files of a skill. One that has no name is called `fallback_name`.
pub(crate) async fn check_bundle(
    bundle: Bundle,
    fallback_name: Option<&str>,
    limits: &BundleLimits,
    permit: &Arc<TransferPermit>,
) -> Result<UploadedSkill, HttpError> {
    let (limits, name) = (limits.clone(), fallback_name.map(str::to_owned));
    let work = move || check_blocking(bundle, name.as_deref(), limits);
    let done = run_with_permit(Arc::clone(permit), work).await;
    let (checked, _permit) = done.map_err(|error| HttpError::internal("intake", &error))?;
    checked
}

fn check_blocking(
    bundle: Bundle,
    fallback_name: Option<&str>,
    limits: BundleLimits,
) -> Result<UploadedSkill, HttpError> {
    let options = LoadOptions {
        limits,
        profile: Profile::Upload,
        fallback_name,
        ..LoadOptions::default()
    };
    let loaded = Skill::load(bundle, &options);
    let valid = loaded.is_valid();
    let Some(skill) = loaded.skill.filter(|_| valid) else {
        return Err(invalid_skill(&loaded.diagnostics));
    };
    let report = scan::scan(&Subject::from_skill(&skill), &ScanLimits::default());
    let scan = ScanRecord::from_report(&report)?;
    Ok(UploadedSkill { skill, scan })
}

/// One archive, or individual files.
fn read_bundle(mut files: Vec<FormFile>, limits: &BundleLimits) -> Result<Bundle, HttpError> {
    if files.len() == 1
        && let Some(one) = files.pop_if(|one| is_archive(one))
    {
        return Ok(Bundle::from_archive(&one.data, limits)?);
    }
    check_distinct_names(&files)?;
    let loose = files.into_iter().map(|file| (file.name, file.data));
    Ok(Bundle::from_bare_files(loose, limits)?)
}

fn is_archive(file: &FormFile) -> bool {
    let name = file.name.to_ascii_lowercase();
    ARCHIVE_EXTENSIONS
        .iter()
        .any(|ending| name.ends_with(ending))
        || file.data.starts_with(b"PK\x03\x04")
        || file.data.starts_with(&[0x1f, 0x8b])
}

/// One of the SDKs drops the folders of file names; then names may collide.
fn check_distinct_names(files: &[FormFile]) -> Result<(), HttpError> {
    let mut names = std::collections::HashSet::new();
    let Some(twice) = files.iter().find(|file| !names.insert(&file.name)) else {
        return Ok(());
    };
    let message = format!(
        "skill upload refused: two files are named `{}`. If they are in different folders, your \
        client has dropped the folders from their names: send the skill as one zip instead",
        excerpt(&twice.name)
    );
    Err(HttpError::bad_request("skill-names-collide", message)
        .with_detail("file", excerpt(&twice.name).to_string()))
}
