//! The skills that are in memory, by their versions. All requests that use a version share it for
//! as long as one of them does, even if the cache has no room for it: otherwise each of many
//! requests for a few large skills would have a copy of its own in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use prowess_skill::Skill;
use tokio::sync::Mutex as AsyncMutex;

use crate::error::Result;

/// Versions that are tracked before those that nobody uses are forgotten.
const SWEEP_ABOVE: usize = 64;

/// The skills in memory.
#[derive(Debug, Default)]
pub(crate) struct LoadedSkills(Mutex<LoadedVersions>);

#[derive(Debug, Default)]
struct LoadedVersions {
    by_id: HashMap<String, Arc<LoadedVersion>>,
    /// How many there were after those that nobody uses were forgotten.
    swept: usize,
}

/// Held while the version is read, so that it is read once.
type LoadedVersion = AsyncMutex<Weak<Skill>>;

impl LoadedSkills {
    /// The skill of a version: the one in memory, or else the one that is read now.
    pub(crate) async fn get_or_load(
        &self,
        version: &str,
        load: impl Future<Output = Result<Skill>>,
    ) -> Result<Arc<Skill>> {
        let loaded = self.version(version);
        let mut loaded = loaded.lock().await;
        if let Some(skill) = loaded.upgrade() {
            return Ok(skill);
        }
        let skill = Arc::new(load.await?);
        *loaded = Arc::downgrade(&skill);
        Ok(skill)
    }

    fn version(&self, id: &str) -> Arc<LoadedVersion> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.by_id.len() > SWEEP_ABOVE.max(2 * all.swept) {
            // Whoever reads one, or waits for it, has it too.
            all.by_id.retain(|_, one| {
                Arc::strong_count(one) > 1
                    || one.try_lock().is_ok_and(|skill| skill.strong_count() > 0)
            });
            all.swept = all.by_id.len();
        }
        Arc::clone(all.by_id.entry(id.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use prowess_skill::LoadOptions;

    use super::*;

    async fn read(name: &str) -> Result<Skill> {
        let text = format!("---\nname: {name}\ndescription: D.\n---\nText.\n");
        let loaded = Skill::from_text(&text, &LoadOptions::default());
        Ok(loaded.skill.unwrap())
    }

    #[tokio::test]
    async fn a_version_in_use_is_not_read_again_and_others_are_forgotten() {
        let skills = LoadedSkills::default();
        let first = skills.get_or_load("a", read("first")).await.unwrap();
        let second = skills.get_or_load("a", read("second")).await.unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        for number in 0..10 * SWEEP_ABOVE {
            let id = number.to_string();
            drop(skills.get_or_load(&id, read("other")).await.unwrap());
        }
        let tracked = skills.0.lock().unwrap().by_id.len();
        assert!(tracked <= SWEEP_ABOVE + 1, "{tracked}");
        let again = skills.get_or_load("a", read("third")).await.unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        drop((first, second, again));
        let last = skills.get_or_load("a", read("last")).await.unwrap();
        assert_eq!(last.name, "last");
    }
}
