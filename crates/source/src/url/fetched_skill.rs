//! One fetched skill.

use prowess_skill::{
    Bundle, BundleLimits, Digest, LoadOptions, LoadedSkill, Manifest, Profile, Skill,
};

use super::error::FetchError;

/// How current the bytes of a skill are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FetchState {
    /// From the cache: fresh, or identified by a digest.
    Cached,
    /// From the cache, confirmed by the host.
    Revalidated,
    /// Fetched now.
    Fetched,
    /// From the cache and no longer fresh, because the host cannot be reached.
    Stale,
}

/// One fetched skill. Its bytes are in memory and were checked as a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedSkill {
    /// The URL of this skill.
    pub url: String,
    /// Its name in the source: of the file, the folder or the index entry.
    pub place_name: Option<String>,
    /// Whether the name is from an index.
    pub listed: bool,
    /// The digest of its content.
    pub digest: Digest,
    /// How current it is.
    pub state: FetchState,
    bundle: Bundle,
}

impl FetchedSkill {
    pub(super) fn new(
        url: String,
        place_name: Option<String>,
        bundle: Bundle,
        state: FetchState,
    ) -> Self {
        FetchedSkill {
            url,
            place_name,
            listed: false,
            digest: Manifest::from_bundle(&bundle).digest(),
            state,
            bundle,
        }
    }

    /// Marks the name as one from an index.
    pub(super) fn with_listed_name(mut self) -> Self {
        self.listed = true;
        self
    }

    /// The files.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Checks the skill like an upload. One that does not pass is not returned; the
    /// diagnostics state why.
    pub(crate) fn load(&self, limits: &BundleLimits) -> Result<LoadedSkill, FetchError> {
        let options = LoadOptions {
            limits: limits.clone(),
            profile: Profile::Upload,
            folder: None,
            fallback_name: self.place_name.as_deref(),
        };
        let mut loaded = Skill::load(self.bundle.clone(), &options);
        if !loaded.is_valid() {
            loaded.skill = None;
        }
        match (&loaded.skill, &self.place_name) {
            (Some(skill), Some(listed)) if self.listed && skill.name != *listed => {
                Err(FetchError::NameMismatch {
                    listed: listed.clone(),
                    found: skill.name.escape_debug().to_string(),
                })
            }
            _ => Ok(loaded),
        }
    }
}
