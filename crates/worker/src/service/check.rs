//! Whether a request is valid: ids, names and sizes. Gateways are trusted with tenants' data, but
//! not with this host: what is not valid is refused before anything is done.

use crate::protocol::{ExecRequest, LayerRequest, MountedSkill, RemoteError};
use prowess_sandbox::check_container_id;

/// Longest id of a command.
const MAX_COMMAND_ID_BYTES: usize = 512;
/// Longest owner.
const MAX_OWNER_BYTES: usize = 256;
/// Skills of one container, files of them, and bytes of those.
const MAX_SKILLS: usize = 500;
const MAX_SKILL_FILES: usize = 50_000;
const MAX_SKILL_BYTES: u64 = 1 << 30;
/// Variables of one command.
const MAX_VARIABLES: usize = 1_000;
/// Longest text for logs.
const MAX_LOG_BYTES: usize = 256;
/// Longest timeout: a day.
const MAX_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;

/// Checks a command.
pub(super) fn check_exec(request: &ExecRequest) -> Result<(), RemoteError> {
    check_command_id(&request.command)?;
    check_owner(&request.owner)?;
    check_container_id(&request.container).map_err(|error| refused(&error.to_string()))?;
    check_skills(&request.skills)?;
    let execution = &request.execution;
    let bad_variable = |(name, value): &(String, String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    if execution.env.len() > MAX_VARIABLES || execution.env.iter().any(bad_variable) {
        return Err(refused("the variables are not valid"));
    }
    let limit = execution.timeout_ms.unwrap_or(0);
    if limit > MAX_TIMEOUT_MS
        || request.policy.limits.timeout.as_millis() > u128::from(MAX_TIMEOUT_MS)
    {
        return Err(refused("the timeout is longer than a day"));
    }
    let texts = [&request.run, &request.traceparent];
    let is_bad = |text: &String| text.len() > MAX_LOG_BYTES || text.chars().any(char::is_control);
    if texts.into_iter().flatten().any(is_bad) {
        return Err(refused("the run or the trace context is not valid"));
    }
    Ok(())
}

/// Checks a request for packages.
pub(super) fn check_layer(request: &LayerRequest) -> Result<(), RemoteError> {
    check_command_id(&request.command)?;
    check_owner(&request.owner)
}

fn check_command_id(id: &str) -> Result<(), RemoteError> {
    let is_valid = |byte: u8| byte.is_ascii_graphic();
    if id.is_empty() || id.len() > MAX_COMMAND_ID_BYTES || !id.bytes().all(is_valid) {
        return Err(refused("the id of the command is not valid"));
    }
    Ok(())
}

/// Owners of the sandbox's own containers begin with a control character.
fn check_owner(owner: &str) -> Result<(), RemoteError> {
    if owner.is_empty() || owner.len() > MAX_OWNER_BYTES || owner.chars().any(char::is_control) {
        return Err(refused("the owner is not valid"));
    }
    Ok(())
}

/// Their paths are checked when their files are provided.
fn check_skills(skills: &[MountedSkill]) -> Result<(), RemoteError> {
    let files = || skills.iter().flat_map(|skill| &skill.files);
    let bytes = files().map(|file| file.size).fold(0, u64::saturating_add);
    if skills.len() > MAX_SKILLS || files().count() > MAX_SKILL_FILES || bytes > MAX_SKILL_BYTES {
        return Err(refused("the skills are too many or too large"));
    }
    let is_bad = |skill: &MountedSkill| {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        skill.folder.is_empty() || skill.folder.len() > 128 || !skill.folder.chars().all(fine)
    };
    if skills.iter().any(is_bad) {
        return Err(refused("the folder of a skill is not valid"));
    }
    Ok(())
}

fn refused(why: &str) -> RemoteError {
    RemoteError::new(
        RemoteError::BAD_REQUEST,
        format!("the worker refuses the request: {why}"),
    )
}
