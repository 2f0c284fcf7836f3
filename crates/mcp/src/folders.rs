//! Skills of folders, archives and URLs. Folders and archives are looked at again and
//! again; what came from a URL stays as it was fetched.

use crate::supply::{Skills, SupplyError};
use prowess_skill::Limits;
use prowess_source::url::is_url;
use prowess_source::{Bounds, Discovery, Labelled, Opened, Origin, open};
use prowess_toolbox::{Refreshed, Shelf};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Skills of some sources.
#[derive(Debug, Clone)]
pub struct Folders(Arc<Mutex<Looked>>);

#[derive(Debug)]
struct Looked {
    sources: Vec<(PathBuf, Option<Vec<Origin>>)>,
    shelf: Shelf,
    skills: Skills,
}

impl Folders {
    /// Reads what was opened, and tells what is wrong with any of it.
    #[must_use]
    pub fn new(sources: &[PathBuf], opened: Vec<Opened>) -> (Self, Refreshed) {
        let kept = |(path, opened): (&PathBuf, &Opened)| {
            let fetched = opened.as_ref().ok().filter(|_| is_url(path));
            (path.clone(), fetched.map(|(origins, _)| origins.clone()))
        };
        let kept = sources.iter().zip(&opened).map(kept).collect();
        let labelled = |path: &PathBuf| Labelled {
            path: path.clone(),
            label: None,
        };
        let labelled = sources.iter().map(labelled).collect();
        let mut shelf = Shelf::new(labelled, Bounds::default(), Limits::default());
        let refreshed = shelf.take(opened);
        let skills = Skills {
            revision: 0,
            members: refreshed.members.clone().into(),
        };
        let looked = Looked {
            sources: kept,
            shelf,
            skills,
        };
        (Folders(Arc::new(Mutex::new(looked))), refreshed)
    }

    /// What is there now. Waits for the disk, elsewhere.
    ///
    /// # Errors
    /// When the process is ending.
    pub async fn look(&self) -> Result<Skills, SupplyError> {
        let looked = Arc::clone(&self.0);
        let look = move || {
            let mut looked = looked.lock().unwrap_or_else(PoisonError::into_inner);
            looked.look()
        };
        let done = tokio::task::spawn_blocking(look).await;
        done.map_err(|error| SupplyError {
            why: error.to_string(),
        })
    }
}

impl Looked {
    fn look(&mut self) -> Skills {
        let bounds = Bounds::default();
        let again = |(path, fetched): &(PathBuf, Option<Vec<Origin>>)| match fetched {
            Some(origins) => Ok((origins.clone(), Discovery::default())),
            None => open(path, &bounds),
        };
        let opened = self.sources.iter().map(again).collect();
        let refreshed = self.shelf.take(opened);
        if refreshed.changed {
            for problem in &refreshed.problems {
                tracing::warn!(code = problem.code, "{}", problem.message);
            }
            self.skills = Skills {
                revision: self.skills.revision + 1,
                members: refreshed.members.into(),
            };
        }
        self.skills.clone()
    }
}
