//! The terms of a version of a skill.

use prowess_ranking::{SkillTerms, SkillText};
use prowess_skill::declared_triggers;
use prowess_skill::fields::invocation::{self, DISABLE_MODEL_INVOCATION};
use serde_json::{Map, Value};

use crate::db::DbRow;
use crate::error::{Error, Result};

/// The field of the frontmatter that belongs after the description.
const WHEN_TO_USE: &str = "when_to_use";

/// When to use a skill, from the JSON of its frontmatter.
pub(crate) fn when_to_use(frontmatter: &str) -> Result<Option<String>> {
    // Few have it.
    if !frontmatter.contains(WHEN_TO_USE) {
        return Ok(None);
    }
    let text = parse_frontmatter(frontmatter)?.remove(WHEN_TO_USE);
    Ok(text.and_then(|text| text.as_str().map(str::to_owned)))
}

/// Whether models may load a skill by themselves, from the JSON of its frontmatter.
pub(crate) fn models_may_load(frontmatter: &str) -> Result<bool> {
    // Few forbid it.
    if !frontmatter.contains(DISABLE_MODEL_INVOCATION) {
        return Ok(true);
    }
    let fields = parse_frontmatter(frontmatter)?;
    Ok(invocation::models_may_load(&fields))
}

/// The terms of a version.
pub(crate) fn version_terms(
    name: &str,
    description: &str,
    frontmatter: &Map<String, Value>,
    body: &str,
) -> SkillTerms {
    let when_to_use = frontmatter.get(WHEN_TO_USE).and_then(Value::as_str);
    SkillTerms::new(&SkillText {
        name,
        description,
        when_to_use: when_to_use.unwrap_or_default(),
        body,
        triggers: &declared_triggers(frontmatter),
    })
}

/// The terms of a row of `versions` with its name, description, frontmatter and body.
pub(crate) fn row_terms(row: &DbRow) -> Result<SkillTerms> {
    let frontmatter = parse_frontmatter(&row.text("frontmatter")?)?;
    let (name, description) = (row.text("name")?, row.text("description")?);
    Ok(version_terms(
        &name,
        &description,
        &frontmatter,
        &row.text("body")?,
    ))
}

fn parse_frontmatter(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|error| Error::MalformedRow {
        table: "versions",
        reason: format!("frontmatter: {error}"),
    })
}
