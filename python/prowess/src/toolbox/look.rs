//! What the sources of a toolbox hold, and what is wrong with any.

use std::path::PathBuf;

use prowess_source::Opened;
use prowess_toolbox::{Member, Problem, Refreshed, Shelf};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::failure::Failure;

/// What the last look at the sources gave, beside tools.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) problems: Vec<Value>,
    pub(super) shadowed: Vec<Value>,
    pub(super) skills: Vec<Value>,
}

/// Skills, and whether they are other ones than before.
pub(super) struct Looked {
    pub(super) members: Vec<Member>,
    pub(super) changed: bool,
    pub(super) seen: Seen,
}

/// Sources that are not there are the caller's mistake; what is wrong inside one is told.
pub(super) fn readable(opened: Vec<Opened>) -> Result<Vec<Opened>, Failure> {
    let readable = opened.into_iter().map(|one| one.map(Ok));
    let readable: Result<Vec<Opened>, _> = readable.collect();
    Ok(readable?)
}

/// Looks at sources that were opened. What was given goes before what they hold.
pub(super) async fn look(
    mut shelf: Shelf,
    opened: Vec<Opened>,
    given: &[Member],
) -> Result<(Shelf, Looked), Failure> {
    let read = spawn_blocking(move || {
        let refreshed = shelf.take(opened);
        (shelf, refreshed)
    });
    let (shelf, refreshed) = read.await.map_err(Failure::broken)?;
    Ok((shelf, looked(refreshed, given)))
}

pub(super) fn looked(refreshed: Refreshed, given: &[Member]) -> Looked {
    let mut seen = Seen::default();
    let mut members = refreshed.members;
    for member in given {
        let name = &member.skill.name;
        if let Some(hidden) = members.iter_mut().find(|other| other.skill.name == *name) {
            *hidden = member.clone();
            let by = "a Skill that was given";
            seen.shadowed
                .push(json!({ "name": name, "hidden": null, "by": by }));
        } else {
            members.push(member.clone());
        }
    }
    seen.problems.extend(refreshed.problems.iter().map(problem));
    if refreshed.cut_short {
        let why = "the search ended early: there are too many folders";
        seen.problems
            .push(json!({ "code": "search-cut-short", "message": why }));
    }
    for shadowed in &refreshed.shadowed {
        let (hidden, by) = (shadowed.hidden.display(), shadowed.by.display());
        seen.shadowed.push(json!({
            "name": shadowed.name, "hidden": hidden.to_string(), "by": by.to_string(),
        }));
    }
    let about = |member: &Member| {
        let skill = &member.skill;
        json!({ "name": skill.name, "description": skill.description })
    };
    seen.skills = members.iter().map(about).collect();
    Looked {
        members,
        changed: refreshed.changed,
        seen,
    }
}

fn problem(problem: &Problem) -> Value {
    let path = problem.path.display().to_string();
    json!({ "code": problem.code, "message": problem.message, "path": path })
}

pub(super) fn own_tools(why: &String) -> Value {
    json!({ "code": "own-tools-missing", "message": why })
}

pub(super) fn too_many(skills: usize, most: usize) -> Value {
    let why = format!(
        "{skills} skills have tools of their own, more than the {most} whose tools are \
         shown at once: each skill's are shown when it is loaded"
    );
    json!({ "code": "own-tools-many", "message": why, "severity": "warning" })
}

/// Why there is no skill at all.
pub(super) fn nothing(sources: &[PathBuf], seen: &Seen) -> Failure {
    let text = |field: &str| seen.problems.first()?.get(field)?.as_str();
    if let (Some(code), Some(message)) = (text("code"), text("message")) {
        return Failure::new("SourceError", code, message);
    }
    let places: Vec<_> = sources.iter().map(|s| s.display().to_string()).collect();
    let why = match places.is_empty() {
        true => "no sources were given".to_owned(),
        false => format!("{}: no SKILL.md here or below", places.join(", ")),
    };
    Failure::new("SourceError", "source-not-a-skill", why)
}
