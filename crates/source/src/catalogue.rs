//! Several sources with labels: later ones win, and hidden skills are reported.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prowess_skill::{BundleLimits, Diagnostic, Profile, Skill};

use crate::discover::SearchBounds;
use crate::error::SourceError;
use crate::open::{open, open_source};
use crate::origin::{OpenResult, Origin};
use crate::url::Fetcher;

/// A path and the label under which its skills are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledSource {
    /// A folder, an archive, a Markdown file or a URL.
    pub path: PathBuf,
    /// For people: `project`, `team`, …
    pub label: Option<String>,
}

/// A skill of a catalogue.
#[derive(Debug)]
pub struct CatalogueEntry {
    /// Where it came from.
    pub origin: Origin,
    /// Its source's label.
    pub label: Option<String>,
    /// The skill.
    pub skill: Skill,
    /// Its diagnostics.
    pub diagnostics: Vec<Diagnostic>,
}

/// A skill that another of the same name hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowedSkill {
    /// The name of both.
    pub name: String,
    /// The hidden one.
    pub hidden: PathBuf,
    /// The one that is used.
    pub by: PathBuf,
}

/// The skills of several sources, by name.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Skills by name.
    pub entries: BTreeMap<String, CatalogueEntry>,
    /// Skills hidden by a later one.
    pub shadowed: Vec<ShadowedSkill>,
    /// Origins without a loadable skill, with their diagnostics.
    pub refused: Vec<(Origin, Vec<Diagnostic>)>,
    /// Sources or folders that could not be read.
    pub unreadable: Vec<SourceError>,
    /// Whether a search ended early.
    pub cut_short: bool,
}

impl Catalogue {
    /// Loads all skills of all sources, in order. Sources are paths.
    pub fn load(
        sources: &[LabelledSource],
        bounds: &SearchBounds,
        limits: &BundleLimits,
    ) -> Catalogue {
        let opened = |source: &LabelledSource| open(&source.path, bounds);
        Catalogue::from_opened(
            sources.iter().map(|source| (source, opened(source))),
            limits,
        )
    }

    /// The same for sources that may be URLs too.
    pub async fn load_sources(
        sources: &[LabelledSource],
        bounds: &SearchBounds,
        limits: &BundleLimits,
        fetcher: &Fetcher,
    ) -> Catalogue {
        let mut opened = Vec::with_capacity(sources.len());
        for source in sources {
            opened.push((source, open_source(&source.path, bounds, fetcher).await));
        }
        Catalogue::from_opened(opened, limits)
    }

    /// Loads all skills of sources that were opened, in order.
    pub fn from_opened<'a>(
        sources: impl IntoIterator<Item = (&'a LabelledSource, OpenResult)>,
        limits: &BundleLimits,
    ) -> Catalogue {
        let mut catalogue = Catalogue::default();
        for (source, opened) in sources {
            catalogue.add_source(opened, source, limits);
        }
        catalogue
    }

    fn add_source(&mut self, opened: OpenResult, source: &LabelledSource, limits: &BundleLimits) {
        match opened {
            Err(error) => self.unreadable.push(error),
            Ok((origins, discovery)) => {
                self.unreadable.extend(discovery.unreadable);
                self.cut_short |= discovery.cut_short;
                for origin in origins {
                    self.add(origin, source.label.clone(), limits);
                }
            }
        }
    }

    fn add(&mut self, origin: Origin, label: Option<String>, limits: &BundleLimits) {
        let loaded = match origin.load(limits, Profile::Lenient) {
            Ok(loaded) => loaded,
            Err(error) => return self.unreadable.push(error),
        };
        let Some(skill) = loaded.skill else {
            return self.refused.push((origin, loaded.diagnostics));
        };
        let name = skill.name.clone();
        let by = origin.path().to_owned();
        let entry = CatalogueEntry {
            origin,
            label,
            skill,
            diagnostics: loaded.diagnostics,
        };
        if let Some(before) = self.entries.insert(name.clone(), entry) {
            let hidden = before.origin.path().to_owned();
            self.shadowed.push(ShadowedSkill { name, hidden, by });
        }
    }
}
