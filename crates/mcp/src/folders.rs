//! Skills of folders, archives and URLs. Folders and archives are refreshed; what came from
//! a URL stays as it was fetched.

use crate::skill_provider::{SkillProviderError, SkillSet};
use prowess_skill::BundleLimits;
use prowess_source::url::is_url;
use prowess_source::{Discovery, LabelledSource, OpenResult, Origin, SearchBounds, open};
use prowess_toolbox::{SkillSnapshot, SkillSources};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Skills of some sources.
#[derive(Debug, Clone)]
pub struct SkillFolders(Arc<Mutex<FolderState>>);

#[derive(Debug)]
struct FolderState {
    sources: Vec<(PathBuf, Option<Vec<Origin>>)>,
    skill_sources: SkillSources,
    skills: SkillSet,
}

impl SkillFolders {
    /// Reads the opened sources, and returns the skills and any problems.
    #[must_use]
    pub fn new(sources: &[PathBuf], opened: Vec<OpenResult>) -> (Self, SkillSnapshot) {
        let kept = |(path, opened): (&PathBuf, &OpenResult)| {
            let fetched = opened.as_ref().ok().filter(|_| is_url(path));
            (path.clone(), fetched.map(|(origins, _)| origins.clone()))
        };
        let kept = sources.iter().zip(&opened).map(kept).collect();
        let labelled = |path: &PathBuf| LabelledSource {
            path: path.clone(),
            label: None,
        };
        let labelled = sources.iter().map(labelled).collect();
        let mut skill_sources =
            SkillSources::new(labelled, SearchBounds::default(), BundleLimits::default());
        let refreshed = skill_sources.refresh_from(opened);
        let skills = SkillSet {
            revision: 0,
            members: refreshed.members.clone().into(),
        };
        let state = FolderState {
            sources: kept,
            skill_sources,
            skills,
        };
        (SkillFolders(Arc::new(Mutex::new(state))), refreshed)
    }

    /// The current skills. Disk access happens on a blocking thread.
    ///
    /// # Errors
    /// When the process is ending.
    pub async fn refresh(&self) -> Result<SkillSet, SkillProviderError> {
        let state = Arc::clone(&self.0);
        let refresh = move || {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.refresh()
        };
        let done = tokio::task::spawn_blocking(refresh).await;
        done.map_err(|error| SkillProviderError {
            why: error.to_string(),
        })
    }
}

impl FolderState {
    fn refresh(&mut self) -> SkillSet {
        let bounds = SearchBounds::default();
        let again = |(path, fetched): &(PathBuf, Option<Vec<Origin>>)| match fetched {
            Some(origins) => Ok((origins.clone(), Discovery::default())),
            None => open(path, &bounds),
        };
        let opened = self.sources.iter().map(again).collect();
        let refreshed = self.skill_sources.refresh_from(opened);
        if refreshed.changed {
            for problem in &refreshed.problems {
                tracing::warn!(code = problem.code, "{}", problem.message);
            }
            self.skills = SkillSet {
                revision: self.skills.revision + 1,
                members: refreshed.members.into(),
            };
        }
        self.skills.clone()
    }
}
