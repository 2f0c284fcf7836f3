//! The tab with the SKILL.md: rendered, or as it is, with its fields and remarks.

use std::sync::Arc;

use askama::Template;
use prowess_skill::{LoadOptions, LoadedSkill, Severity, Skill};
use serde_json::Value;

use super::tab::{TabContext, render_tab};
use crate::api::PageError;
use crate::format::shorten;
use crate::markdown::{MAX_MARKDOWN_BYTES, to_html};
use crate::preview::{TextExcerpt, skill_file_url};
use crate::query::with_query;
use crate::skill_archive::load_bundle;

/// Fields of a frontmatter that are shown, and characters of each.
const MAX_FIELDS: usize = 40;
const FIELD_CHARS: usize = 600;

#[derive(Template)]
#[template(path = "skill_instructions.html")]
struct InstructionsTab {
    /// Why there is nothing to show.
    missing: Option<String>,
    /// The rendered body; none if it is too long or shown raw.
    rendered: Option<String>,
    raw: Option<TextExcerpt>,
    /// The address of the other form.
    other: String,
    is_raw: bool,
    /// The file itself.
    file: String,
    fields: Vec<(String, String)>,
    remarks: Vec<Remark>,
}

/// What the checks of the format say.
struct Remark {
    kind: &'static str,
    code: &'static str,
    message: String,
    fix: Option<&'static str>,
}

pub(super) async fn render(context: &TabContext<'_>) -> Result<String, PageError> {
    let is_raw = context.query.is_set("raw");
    let other = [("raw", (!is_raw).then_some("1"))];
    let mut tab = InstructionsTab {
        missing: None,
        rendered: None,
        raw: None,
        other: with_query(context.here, &other),
        is_raw,
        file: String::new(),
        fields: Vec::new(),
        remarks: Vec::new(),
    };
    let (skill, number) = (&context.skill.id, &context.version.number);
    let api = &context.visitor.api;
    // All files of the skill are in memory and are read, as those of an upload.
    let permit = Arc::new(api.acquire_upload().await?);
    match load_bundle(api, skill, number, &permit).await {
        // A revoked version has no files for anybody.
        Err(error) if error.status.is_client_error() => tab.missing = Some(error.message),
        Err(error) => return Err(error),
        Ok(bundle) => {
            tab.file = skill_file_url(skill, number, bundle.skill_file().as_str());
            let work = permit.run(move || {
                let text = String::from_utf8_lossy(bundle.skill_md()).into_owned();
                tab.fill(&text, &Skill::load(bundle, &LoadOptions::default()));
                tab
            });
            let filled = work.await;
            tab = filled.map_err(|error| PageError::internal("a skill cannot be shown", &error))?;
        }
    }
    render_tab(&tab)
}

impl InstructionsTab {
    fn fill(&mut self, text: &str, loaded: &LoadedSkill) {
        let skill = loaded.skill.as_ref();
        let body = skill.map_or(text, |skill| skill.body.as_str());
        if self.is_raw || body.len() > MAX_MARKDOWN_BYTES {
            self.raw = Some(TextExcerpt::new(text, true));
        } else {
            self.rendered = Some(to_html(body));
        }
        let fields = skill.map(|skill| &skill.frontmatter).into_iter().flatten();
        let shown = |(name, value): (&String, &Value)| (name.clone(), shown_value(value));
        self.fields = fields.take(MAX_FIELDS).map(shown).collect();
        let remark = |it: &prowess_skill::Diagnostic| Remark {
            kind: severity_badge(it.severity),
            code: it.code,
            message: it.message.clone(),
            fix: it.fix,
        };
        self.remarks = loaded.diagnostics.iter().take(50).map(remark).collect();
    }
}

/// The colour of a severity.
fn severity_badge(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "bad",
        Severity::Warning => "warn",
        Severity::Note => "muted",
    }
}

/// A value of a frontmatter as people read it.
fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) => shorten(text, FIELD_CHARS),
        other => shorten(&other.to_string(), FIELD_CHARS),
    }
}
