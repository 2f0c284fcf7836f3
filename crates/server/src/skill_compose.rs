//! Builds skills from upload forms: from their files, or from fields that replace a SKILL.md.
//!
//! LiteLLM's clients may create a skill from `display_title`, `description`, `instructions`
//! and `metadata` alone. A SKILL.md is generated from them, then checked and stored like any
//! other. With files, the fields must match the SKILL.md: a skill has one description.

use std::sync::Arc;

use prowess_skill::upload::is_portable_name;
use prowess_skill::{BundleLimits, Skill};
use prowess_wire::excerpt;
use serde_json::Value;

use crate::error::HttpError;
use crate::form::transfers::TransferPermit;
use crate::form::{FormFile, SkillFields, SkillForm};
use crate::intake::{self, UploadedSkill};

/// Maximum length of a skill name.
const MAX_NAME_BYTES: usize = 64;

/// The skill of a form. A skill built from fields gets this name, or one derived from its
/// title.
pub(crate) async fn skill_from_form(
    form: SkillForm,
    name: Option<&str>,
    limits: &BundleLimits,
    permit: &Arc<TransferPermit>,
) -> Result<UploadedSkill, HttpError> {
    let SkillForm {
        title,
        fields,
        files,
        ..
    } = form;
    if files.is_empty() {
        let name = match name {
            Some(name) => name.to_owned(),
            None => name_from_title(title.as_deref())?,
        };
        let file = skill_md_from_fields(&name, &fields)?;
        return intake::check_upload(vec![file], limits, permit).await;
    }
    let checked = intake::check_upload(files, limits, permit).await?;
    check_fields_agree(&fields, &checked.skill)?;
    Ok(checked)
}

/// Generates a SKILL.md from the fields.
fn skill_md_from_fields(name: &str, fields: &SkillFields) -> Result<FormFile, HttpError> {
    let description = fields.description.as_deref();
    let description = description.ok_or_else(|| missing_field("description"))?;
    let instructions = fields.instructions.as_deref();
    let instructions = instructions.ok_or_else(|| missing_field("instructions"))?;
    let mut text = format!(
        "---\nname: {name}\ndescription: {}\n",
        yaml_quoted(description)
    );
    if !fields.metadata.is_empty() {
        text.push_str("metadata:\n");
    }
    for (key, value) in &fields.metadata {
        // JSON strings are valid YAML.
        let value = match value {
            Value::String(value) => yaml_quoted(value),
            other => escape_for_yaml(&other.to_string()),
        };
        text.push_str(&format!("  {}: {value}\n", yaml_quoted(key)));
    }
    text.push_str("---\n\n");
    text.push_str(instructions.trim_end());
    text.push('\n');
    Ok(FormFile {
        name: "SKILL.md".to_owned(),
        mime: None,
        data: text.into(),
    })
}

fn yaml_quoted(text: &str) -> String {
    escape_for_yaml(&Value::from(text).to_string())
}

/// Escapes characters of JSON that YAML does not allow in quotes.
fn escape_for_yaml(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        let breaks = matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
        if c.is_control() || breaks {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

/// `My Skill` becomes `my-skill`.
fn name_from_title(title: Option<&str>) -> Result<String, HttpError> {
    let title = title.ok_or_else(|| missing_field("display_title"))?;
    let mut name = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !c.is_alphanumeric() && !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.len() == MAX_NAME_BYTES {
            break;
        }
    }
    let name = name.trim_end_matches('-').to_owned();
    if is_portable_name(&name) {
        return Ok(name);
    }
    let message = format!(
        "display_title: cannot derive a skill name from `{}`: it needs letters a-z or digits. \
        Change it, or send a SKILL.md with a `name` in `files[]`",
        excerpt(title)
    );
    Err(HttpError::bad_request("skill-title-invalid", message)
        .with_detail("param", "display_title"))
}

fn missing_field(field: &'static str) -> HttpError {
    let message = format!(
        "{field}: Field required. A skill without files needs `display_title`, `description` and \
        `instructions`: send all of them, or the skill's files in `files[]`"
    );
    HttpError::bad_request("skill-field-missing", message).with_detail("param", field)
}

/// Rejects fields that differ from the SKILL.md.
fn check_fields_agree(fields: &SkillFields, skill: &Skill) -> Result<(), HttpError> {
    if let Some(description) = &fields.description
        && description.trim() != skill.description
    {
        return Err(conflict_error("description", &skill.description));
    }
    if let Some(instructions) = &fields.instructions
        && normalized_lines(instructions) != normalized_lines(&skill.body)
    {
        return Err(conflict_error("instructions", skill.body.trim()));
    }
    for (key, value) in &fields.metadata {
        let kept = skill.metadata.get(key);
        if kept.map(value_text) != Some(value_text(value)) {
            let kept = kept.map(value_text).unwrap_or_default();
            return Err(conflict_error(&format!("metadata.{}", excerpt(key)), &kept));
        }
    }
    Ok(())
}

/// Text without platform-specific line endings and trailing spaces.
fn normalized_lines(text: &str) -> Vec<&str> {
    text.trim().lines().map(str::trim_end).collect()
}

/// Form fields are text, whatever their type.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn conflict_error(field: &str, kept: &str) -> HttpError {
    let kept = match kept {
        "" => "does not have it".to_owned(),
        kept => format!("has `{}`", excerpt(kept)),
    };
    let message = format!(
        "{field}: does not match the uploaded SKILL.md, which {kept}. Remove the field, or change \
        the SKILL.md"
    );
    HttpError::bad_request("skill-field-conflict", message).with_detail("param", field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_titles() {
        for (title, name) in [
            ("My Skill", "my-skill"),
            ("  PDF: forms & tables!  ", "pdf-forms-tables"),
            ("a--b__c", "a-b-c"),
            ("Größe 2", "gre-2"),
        ] {
            assert_eq!(name_from_title(Some(title)).unwrap(), name, "{title}");
        }
        let long = name_from_title(Some(&"ab ".repeat(40))).unwrap();
        assert!(
            long.len() <= MAX_NAME_BYTES && is_portable_name(&long),
            "{long}"
        );
        for title in [None, Some(""), Some("日本語"), Some("!?")] {
            assert!(name_from_title(title).is_err(), "{title:?}");
        }
    }

    #[test]
    fn fields_reach_the_skill_unchanged() {
        let hostile = "a: b # \"c\"\n--- \u{7f}\u{85}\u{2028}\t{x} \\ é 𝄞\n---\nname: evil";
        let fields = SkillFields {
            description: Some(hostile.to_owned()),
            instructions: Some("---\nname: other\n---\n\nDo it.\n".to_owned()),
            metadata: serde_json::from_value(
                serde_json::json!({"k: \"1\"": hostile, "n": {"a": [1, "\u{85}"]}}),
            )
            .unwrap(),
        };
        let part = skill_md_from_fields("my-skill", &fields).unwrap();
        let text = String::from_utf8(part.data.to_vec()).unwrap();
        let loaded = Skill::from_text(&text, &prowess_skill::LoadOptions::default());
        let skill = loaded.skill.unwrap_or_else(|| panic!("{text}"));
        assert_eq!(skill.name, "my-skill");
        assert_eq!(skill.description, hostile);
        assert_eq!(skill.metadata, fields.metadata);
        assert!(check_fields_agree(&fields, &skill).is_ok());
    }
}
