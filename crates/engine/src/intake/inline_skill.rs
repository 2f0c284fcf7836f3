//! A skill that is part of the request: a zip archive in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Severity, Skill};
use prowess_store::TenantId;

use crate::error::RunError;
use crate::intake::unpack_permits::UnpackPermits;

/// Loads a skill from base64, when the tenant has its turn.
pub(crate) async fn load_inline_skill(
    permits: &UnpackPermits,
    tenant: &TenantId,
    name: &str,
    data: &str,
) -> Result<Skill, RunError> {
    let (name, data) = (name.to_owned(), data.to_owned());
    let unpacked = permits.unpack(tenant, move || unpack_inline(&name, &data));
    unpacked.await.map_err(|error| RunError::InlineSkill {
        name: "inline".to_owned(),
        why: error.to_string(),
    })?
}

fn unpack_inline(name: &str, data: &str) -> Result<Skill, RunError> {
    let invalid = |why: String| RunError::InlineSkill {
        name: name.to_owned(),
        why,
    };
    let zip = STANDARD
        .decode(data)
        .map_err(|error| invalid(format!("its data is not base64: {error}")))?;
    let bundle = Bundle::from_archive(&zip, &BundleLimits::default());
    let bundle = bundle.map_err(|error| RunError::inline_skill(name, &error))?;
    let loaded = Skill::load(bundle, &LoadOptions::default());
    let valid = loaded.is_valid();
    let first = loaded.diagnostics.iter();
    let mut first = first.filter(|found| found.severity == Severity::Error);
    let why = first.next().map_or_else(
        || "it cannot be loaded".to_owned(),
        |found| format!("{}: {}", found.file, found.message),
    );
    loaded.skill.filter(|_| valid).ok_or_else(|| invalid(why))
}
