//! From a bundle to a skill: decodes the SKILL.md, reads its fields and checks them.
//!
//! [`Skill::load`] is the only way from files to a skill. It is lenient: it returns a skill
//! whenever one can be used, with a diagnostic for every deviation. Severities depend on the
//! [`Profile`].

use serde_json::{Map, Value};

use crate::bundle::Bundle;
use crate::diagnostic::{Diagnostic, Severity};
use crate::fields::{FieldReader, allowed_tools, invocation, requires, tools};
use crate::frontmatter::{Frontmatter, NodeKind, SourceText};
use crate::manifest::Manifest;
use crate::rules;
use crate::skill::{LoadOptions, LoadedSkill, Profile, Skill};
use crate::standard::{self, StandardViolation};
use crate::{advice, upload};

impl Skill {
    /// Reads and checks a bundle.
    pub fn load(bundle: Bundle, options: &LoadOptions<'_>) -> LoadedSkill {
        let file = bundle.skill_file().as_str().to_owned();
        let source = match SourceText::decode(bundle.skill_md()) {
            Ok(source) => source,
            Err(error) => {
                let message = format!(
                    "not valid UTF-8: line {} has an invalid byte (offset {})",
                    error.line, error.offset
                );
                return LoadedSkill::from_error(rules::NOT_UTF8.in_file(&file, message));
            }
        };
        let folder = bundle.folder().or(options.folder).map(str::to_owned);
        let (frontmatter, mut diagnostics) = read_frontmatter(&source, options, &file);
        diagnostics.extend(note_files(&bundle));
        let skill = frontmatter.as_ref().and_then(|frontmatter| {
            let mut loader = SkillLoader {
                reader: FieldReader::new(frontmatter, &file),
                folder: folder.as_deref(),
                options,
            };
            let skill = loader.load(bundle);
            diagnostics.append(&mut loader.reader.diagnostics);
            skill
        });
        match options.profile {
            Profile::Lenient => {}
            Profile::Strict => apply_strict_profile(&mut diagnostics),
            Profile::Upload => {
                if let (Some(skill), Some(frontmatter)) = (&skill, &frontmatter) {
                    diagnostics.extend(upload::check(skill, frontmatter, &file));
                }
            }
        }
        diagnostics.sort_by_key(|d| d.place.map_or(0, |place| place.start));
        LoadedSkill {
            skill,
            diagnostics,
            source: Some(source),
        }
    }

    /// A skill given as text, without files: it may not declare tools.
    pub fn from_text(text: &str, options: &LoadOptions<'_>) -> LoadedSkill {
        let bundle = match Bundle::from_skill_md(text.to_owned(), &options.limits) {
            Ok(bundle) => bundle,
            Err(error) => {
                return LoadedSkill::from_error(
                    rules::BUNDLE.in_file("SKILL.md", error.to_string()),
                );
            }
        };
        let mut loaded = Skill::load(bundle, options);
        let declares = |skill: &Skill| skill.frontmatter.get("tools").is_some_and(Value::is_object);
        if loaded.skill.as_ref().is_some_and(declares) {
            let message = "`tools` is declared, but a skill given as text has no scripts";
            loaded
                .diagnostics
                .push(rules::TOOLS_IN_TEXT.in_file("SKILL.md", message));
            loaded.skill = None;
        }
        loaded
    }
}

/// Remarks about the files, before any is read.
fn note_files(bundle: &Bundle) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    let file = bundle.skill_file().as_str();
    if file != "SKILL.md" {
        let message = format!("the file is called `{file}`; some clients look for `SKILL.md` only");
        notes.push(rules::SKILL_FILE_CASE.in_file(file, message));
    }
    for name in bundle.ignored() {
        notes.push(rules::IGNORED_ENTRY.in_file(name, "ignored: not part of the skill"));
    }
    notes
}

/// The frontmatter, and what deviates in its YAML. For the strict profile the
/// strict reading comes first: what it accepts needs no second one, and what only it refuses
/// is reported with its message.
fn read_frontmatter(
    source: &SourceText,
    options: &LoadOptions<'_>,
    file: &str,
) -> (Option<Frontmatter>, Vec<Diagnostic>) {
    let limits = &options.limits;
    if options.profile != Profile::Strict {
        return Frontmatter::lenient(source.clone(), limits, file);
    }
    let refused = match Frontmatter::strict(source.clone(), limits) {
        Ok(frontmatter) => {
            let notes = frontmatter.notes(file);
            return (Some(frontmatter), notes);
        }
        Err(error) => error,
    };
    let (frontmatter, mut diagnostics) = Frontmatter::lenient(source.clone(), limits, file);
    if !diagnostics.iter().any(|d| d.strict) {
        diagnostics.push(rules::YAML_STRICT.in_file(file, refused.to_string()));
    }
    (frontmatter, diagnostics)
}

/// Raises to errors what the reference refuses.
fn apply_strict_profile(diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics.iter_mut().filter(|d| d.strict) {
        diagnostic.severity = Severity::Error;
    }
}

struct SkillLoader<'a> {
    reader: FieldReader<'a>,
    folder: Option<&'a str>,
    options: &'a LoadOptions<'a>,
}

impl SkillLoader<'_> {
    fn load(&mut self, bundle: Bundle) -> Option<Skill> {
        self.report_violations();
        let name = self.name();
        let description = self.description();
        let license = invocation::read_text(&mut self.reader, "license");
        let compatibility = self.compatibility();
        let metadata = self.metadata();
        let allowed_tools = allowed_tools::read(&mut self.reader);
        let requires = requires::read(&mut self.reader, name.as_deref());
        let invocation = invocation::read(&mut self.reader);
        let tools = tools::read(&mut self.reader, &bundle, &self.options.limits);
        let frontmatter = self.reader.frontmatter;
        let advice = advice::check(frontmatter, &bundle, self.reader.file);
        self.reader.diagnostics.extend(advice);
        Some(Skill {
            name: name?,
            description: description?,
            license,
            compatibility,
            version: self.version(&metadata),
            metadata,
            allowed_tools,
            requires,
            invocation,
            tools,
            python_tools: bundle.get("tools.py").is_some(),
            frontmatter: to_json_map(frontmatter),
            manifest: Manifest::from_bundle(&bundle),
            body: frontmatter.body().to_owned(),
            bundle,
        })
    }

    /// The standard's verdicts, with a place for each.
    fn report_violations(&mut self) {
        let frontmatter = self.reader.frontmatter;
        for violation in standard::check(frontmatter, self.folder) {
            let ranges = violation.ranges(frontmatter);
            if let StandardViolation::UnexpectedFields(fields) = &violation {
                for (field, range) in fields.iter().zip(&ranges) {
                    self.reader
                        .report(violation.rule(), range, unknown_field_message(field));
                }
                continue;
            }
            match ranges.first() {
                Some(range) => self
                    .reader
                    .report(violation.rule(), range, violation.to_string()),
                None => {
                    let diagnostic = violation
                        .rule()
                        .in_file(self.reader.file, violation.to_string());
                    self.reader.diagnostics.push(diagnostic);
                }
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        let written = self.reader.get("name").and_then(|entry| entry.value.text());
        let written = written.map(standard::strip).filter(|name| !name.is_empty());
        let name = written.or(self.folder).or(self.options.fallback_name);
        if name.is_none() {
            let message = "there is no name, and no folder to take one from";
            let mut diagnostic = rules::NAME_MISSING.in_file(self.reader.file, message);
            diagnostic.severity = Severity::Error;
            self.reader.diagnostics.push(diagnostic);
        }
        name.map(str::to_owned)
    }

    /// A skill without a description can never be chosen, so it is not loaded. The
    /// violation has been reported.
    fn description(&self) -> Option<String> {
        let text = self.reader.get("description")?.value.text()?;
        let text = standard::strip(text);
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn compatibility(&mut self) -> Option<String> {
        let entry = self.reader.get("compatibility")?;
        let text = entry.value.text()?.trim();
        if text.is_empty() {
            let message = "`compatibility` is empty";
            self.reader
                .report(&rules::COMPATIBILITY_EMPTY, &entry.key_range, message);
            return None;
        }
        Some(text.to_owned())
    }

    fn metadata(&mut self) -> Map<String, Value> {
        let Some(entry) = self.reader.get("metadata") else {
            return Map::new();
        };
        if let NodeKind::Mapping(entries) = &entry.value.kind {
            let odd = entries
                .iter()
                .find(|(_, value)| !value.to_json().is_string());
            if let Some((key, value)) = odd {
                let message = format!("`metadata.{}` is not text", key.key_text());
                self.reader
                    .report(&rules::METADATA_NOT_TEXT, &value.range, message);
            }
        }
        match entry.value.to_json() {
            Value::Object(metadata) => metadata,
            Value::Null => Map::new(),
            _ => {
                let message = "`metadata` must be a mapping";
                self.reader
                    .report(&rules::FIELD_TYPE, &entry.value.range, message);
                Map::new()
            }
        }
    }

    fn version(&self, metadata: &Map<String, Value>) -> Option<String> {
        let top = self
            .reader
            .get("version")
            .and_then(|entry| entry.value.value_text());
        let inner = metadata.get("version").map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        top.map(str::to_owned)
            .or(inner)
            .filter(|version| !version.is_empty())
    }
}

fn unknown_field_message(field: &str) -> String {
    let understood = ["tools", "requires"].contains(&field) || invocation::FIELDS.contains(&field);
    if understood {
        format!("`{field}` is not a field of the standard (it is understood here)")
    } else {
        format!("`{field}` is not a field of the standard")
    }
}

fn to_json_map(frontmatter: &Frontmatter) -> Map<String, Value> {
    let entries = frontmatter.entries().iter();
    entries
        .map(|entry| (entry.key.clone(), entry.value.to_json()))
        .collect()
}
