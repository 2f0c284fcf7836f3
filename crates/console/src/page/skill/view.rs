//! A skill and a version of it, from answers of the API.

use serde_json::Value;

use crate::format::{Moment, bytes, count, text};
use crate::query::segment;

/// A skill.
#[derive(Debug)]
pub(in crate::page) struct SkillView {
    pub(in crate::page) id: String,
    /// Its page.
    pub(in crate::page) href: String,
    pub(in crate::page) name: String,
    pub(in crate::page) default_version: String,
    pub(in crate::page) latest_version: String,
    pub(in crate::page) labels: Vec<LabelView>,
}

/// A label of a skill.
#[derive(Debug)]
pub(in crate::page) struct LabelView {
    pub(in crate::page) name: String,
    pub(in crate::page) version: String,
    /// Whether it needs the scope `release`.
    pub(in crate::page) is_protected: bool,
}

/// A version of a skill.
#[derive(Debug)]
pub(in crate::page) struct VersionView {
    pub(in crate::page) id: String,
    /// Its number, from 1.
    pub(in crate::page) number: String,
    /// Its page.
    pub(in crate::page) href: String,
    pub(in crate::page) description: String,
    pub(in crate::page) created: Option<Moment>,
    pub(in crate::page) labels: Vec<String>,
    pub(in crate::page) notes: Option<String>,
    pub(in crate::page) revoked: Option<RevokedView>,
    pub(in crate::page) digest: String,
    pub(in crate::page) scan: Option<ScanBadge>,
    /// Files and bytes, as people read them.
    pub(in crate::page) size: Option<String>,
}

/// Why and when a version was revoked.
#[derive(Debug)]
pub(in crate::page) struct RevokedView {
    pub(in crate::page) reason: String,
    pub(in crate::page) at: Option<Moment>,
}

/// The verdict of the scanner.
#[derive(Debug)]
pub(in crate::page) struct ScanBadge {
    /// `ok`, `warn` or `bad`, for its colour.
    pub(in crate::page) kind: &'static str,
    pub(in crate::page) text: String,
}

impl SkillView {
    pub(in crate::page) fn read(value: &Value) -> SkillView {
        let id = text(value, "id");
        let labels = value.get("labels").and_then(Value::as_array);
        SkillView {
            href: format!("/console/skills/{}", segment(&id)),
            name: text(value, "name"),
            default_version: text(value, "default_version"),
            latest_version: text(value, "latest_version"),
            labels: labels.into_iter().flatten().map(LabelView::read).collect(),
            id,
        }
    }
}

impl LabelView {
    fn read(value: &Value) -> LabelView {
        LabelView {
            name: text(value, "name"),
            version: text(value, "version"),
            is_protected: value.get("protected").and_then(Value::as_bool) == Some(true),
        }
    }
}

impl VersionView {
    pub(in crate::page) fn read(skill: &SkillView, value: &Value) -> VersionView {
        let number = text(value, "version");
        let labels = value.get("labels").and_then(Value::as_array);
        let labels = labels.into_iter().flatten().filter_map(Value::as_str);
        let files = value.get("file_count").and_then(Value::as_u64);
        let total = value.get("total_bytes").and_then(Value::as_u64);
        let size = |(files, total): (u64, u64)| match files {
            1 => format!("1 file, {}", bytes(total)),
            _ => format!("{} files, {}", count(files), bytes(total)),
        };
        VersionView {
            id: text(value, "id"),
            href: format!("{}/versions/{}", skill.href, segment(&number)),
            number,
            description: text(value, "description"),
            created: Moment::from_json(value.get("created_at")),
            labels: labels.map(str::to_owned).collect(),
            notes: Some(text(value, "notes")).filter(|notes| !notes.is_empty()),
            revoked: value
                .get("revoked")
                .filter(|it| it.is_object())
                .map(|it| RevokedView {
                    reason: text(it, "reason"),
                    at: Moment::from_json(it.get("at")),
                }),
            digest: text(value, "digest"),
            scan: scan_badge(&text(value, "scan_status")),
            size: files.zip(total).map(size),
        }
    }

    pub(in crate::page) fn is_default(&self, skill: &SkillView) -> bool {
        self.number == skill.default_version
    }
}

/// How a verdict of the scanner is shown.
pub(in crate::page) fn scan_badge(status: &str) -> Option<ScanBadge> {
    let kind = match status {
        "" => return None,
        "pass" => "ok",
        "malicious" => "bad",
        _ => "warn",
    };
    Some(ScanBadge {
        kind,
        text: format!("scan: {status}"),
    })
}
