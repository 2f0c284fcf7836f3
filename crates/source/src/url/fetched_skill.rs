//! One skill that came by URL.

use prowess_skill::{
    Bundle, BundleLimits, Digest, LoadOptions, LoadedSkill, Manifest, Profile, Skill,
};

use super::error::FetchError;

/// How current the bytes of a skill are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FetchState {
    /// They were kept, and are fresh, or are named by a digest.
    Cached,
    /// They were kept, and the host says they still hold.
    Revalidated,
    /// They were fetched just now.
    Fetched,
    /// They were kept and are no longer fresh, but the host could not be asked.
    Stale,
}

/// One skill that came by URL. Its bytes are held, and were checked as a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedSkill {
    /// The URL that names this one skill.
    pub url: String,
    /// What its place calls it: the file, the folder, the index.
    pub place_name: Option<String>,
    /// Whether an index vouches for that name.
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

    /// The same, of a name that an index vouches for.
    pub(super) fn with_listed_name(mut self) -> Self {
        self.listed = true;
        self
    }

    /// The files.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Checks the skill like an upload. One that does not pass is not there to be
    /// used; the diagnostics say why.
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
