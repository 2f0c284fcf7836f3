//! Reads the sources of a toolbox, and reports their problems.

use std::path::PathBuf;

use prowess_source::OpenResult;
use prowess_toolbox::{Member, SkillSnapshot, SkillSources, SourceProblem};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::failure::PyFailure;

/// What the last reading of the sources found, besides tools.
#[derive(Debug, Default)]
pub(super) struct SourceReport {
    pub(super) problems: Vec<Value>,
    pub(super) shadowed: Vec<Value>,
    pub(super) skills: Vec<Value>,
}

/// The skills, and whether they have changed.
pub(super) struct SourceScan {
    pub(super) members: Vec<Member>,
    pub(super) changed: bool,
    pub(super) report: SourceReport,
}

/// A source that cannot be opened is an error; problems inside one are reported.
pub(super) fn require_readable(opened: Vec<OpenResult>) -> Result<Vec<OpenResult>, PyFailure> {
    let readable = opened.into_iter().map(|one| one.map(Ok));
    let readable: Result<Vec<OpenResult>, _> = readable.collect();
    Ok(readable?)
}

/// Reads opened sources. Given skills take precedence over theirs.
pub(super) async fn scan_sources(
    mut skill_sources: SkillSources,
    opened: Vec<OpenResult>,
    given: &[Member],
) -> Result<(SkillSources, SourceScan), PyFailure> {
    let read = spawn_blocking(move || {
        let refreshed = skill_sources.refresh_from(opened);
        (skill_sources, refreshed)
    });
    let (skill_sources, refreshed) = read.await.map_err(PyFailure::internal)?;
    Ok((skill_sources, merge_given(refreshed, given)))
}

pub(super) fn merge_given(refreshed: SkillSnapshot, given: &[Member]) -> SourceScan {
    let mut report = SourceReport::default();
    let mut members = refreshed.members;
    for member in given {
        let name = &member.skill.name;
        if let Some(hidden) = members.iter_mut().find(|other| other.skill.name == *name) {
            *hidden = member.clone();
            let by = "a Skill object";
            report
                .shadowed
                .push(json!({ "name": name, "hidden": null, "by": by }));
        } else {
            members.push(member.clone());
        }
    }
    report
        .problems
        .extend(refreshed.problems.iter().map(problem_json));
    if refreshed.cut_short {
        let why = "the search ended early: there are too many folders";
        report
            .problems
            .push(json!({ "code": "search-cut-short", "message": why }));
    }
    for shadowed in &refreshed.shadowed {
        let (hidden, by) = (shadowed.hidden.display(), shadowed.by.display());
        report.shadowed.push(json!({
            "name": shadowed.name, "hidden": hidden.to_string(), "by": by.to_string(),
        }));
    }
    let about = |member: &Member| {
        let skill = &member.skill;
        json!({ "name": skill.name, "description": skill.description })
    };
    report.skills = members.iter().map(about).collect();
    SourceScan {
        members,
        changed: refreshed.changed,
        report,
    }
}

fn problem_json(problem: &SourceProblem) -> Value {
    let path = problem.path.display().to_string();
    json!({ "code": problem.code, "message": problem.message, "path": path })
}

pub(super) fn own_tools_problem(why: &String) -> Value {
    json!({ "code": "own-tools-missing", "message": why })
}

pub(super) fn too_many_problem(skills: usize, most: usize) -> Value {
    let why = format!(
        "{skills} skills have tools of their own, more than the {most} whose tools are \
         shown at once: each skill's are shown when it is loaded"
    );
    json!({ "code": "own-tools-many", "message": why, "severity": "warning" })
}

/// Why there is no skill at all.
pub(super) fn no_skills_failure(sources: &[PathBuf], report: &SourceReport) -> PyFailure {
    let text = |field: &str| report.problems.first()?.get(field)?.as_str();
    if let (Some(code), Some(message)) = (text("code"), text("message")) {
        return PyFailure::new("SourceError", code, message);
    }
    let places: Vec<_> = sources.iter().map(|s| s.display().to_string()).collect();
    let why = if places.is_empty() {
        "no sources were given".to_owned()
    } else {
        format!("{}: no SKILL.md in this folder or below", places.join(", "))
    };
    PyFailure::new("SourceError", "source-not-a-skill", why)
}
