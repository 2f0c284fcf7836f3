//! Several sources with labels: later wins, and the shadowing is told.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prowess_skill::{Diagnostic, Limits, Profile, Skill};

use crate::discover::Bounds;
use crate::error::SourceError;
use crate::open::{Origin, open};

/// A path and the label under which its skills are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// A folder, an archive or a Markdown file.
    pub path: PathBuf,
    /// For people: `project`, `team`, …
    pub label: Option<String>,
}

/// A skill of a catalogue.
#[derive(Debug)]
pub struct Entry {
    /// Where it came from.
    pub origin: Origin,
    /// Its source's label.
    pub label: Option<String>,
    /// The skill.
    pub skill: Skill,
    /// What deviates in it.
    pub diagnostics: Vec<Diagnostic>,
}

/// A skill that another of the same name hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadowed {
    /// The name of both.
    pub name: String,
    /// The one that lost.
    pub hidden: PathBuf,
    /// The one that counts.
    pub by: PathBuf,
}

/// The skills of several sources, by name.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Skills by name.
    pub entries: BTreeMap<String, Entry>,
    /// Skills that lost their name to a later one.
    pub shadowed: Vec<Shadowed>,
    /// Origins that hold no loadable skill, with what stands in the way.
    pub refused: Vec<(Origin, Vec<Diagnostic>)>,
    /// Sources or folders that could not be read.
    pub unreadable: Vec<SourceError>,
    /// Whether a search ended early.
    pub cut_short: bool,
}

impl Catalogue {
    /// Loads all skills of all sources, in order.
    pub fn load(sources: &[Labelled], bounds: &Bounds, limits: &Limits) -> Catalogue {
        let mut catalogue = Catalogue::default();
        for source in sources {
            match open(&source.path, bounds) {
                Err(error) => catalogue.unreadable.push(error),
                Ok((origins, discovery)) => {
                    catalogue.unreadable.extend(discovery.unreadable);
                    catalogue.cut_short |= discovery.cut_short;
                    for origin in origins {
                        catalogue.add(origin, source.label.clone(), limits);
                    }
                }
            }
        }
        catalogue
    }

    fn add(&mut self, origin: Origin, label: Option<String>, limits: &Limits) {
        let loaded = match origin.load(limits, Profile::Lenient) {
            Ok(loaded) => loaded,
            Err(error) => return self.unreadable.push(error),
        };
        let Some(skill) = loaded.skill else {
            return self.refused.push((origin, loaded.diagnostics));
        };
        let name = skill.name.clone();
        let by = origin.path().to_owned();
        let entry = Entry {
            origin,
            label,
            skill,
            diagnostics: loaded.diagnostics,
        };
        if let Some(before) = self.entries.insert(name.clone(), entry) {
            let hidden = before.origin.path().to_owned();
            self.shadowed.push(Shadowed { name, hidden, by });
        }
    }
}
