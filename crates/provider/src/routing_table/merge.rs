//! Entries of one name are deployments of one model: they become one entry.

use crate::config::{ModelConfig, ProviderConfigError};

/// One entry per name, in the order of their first one.
pub(super) fn merge_entries(
    models: Vec<ModelConfig>,
) -> Result<Vec<ModelConfig>, ProviderConfigError> {
    let mut merged: Vec<MergedEntry> = Vec::with_capacity(models.len());
    for (index, model) in models.into_iter().enumerate() {
        let place = index + 1;
        match merged
            .iter_mut()
            .find(|entry| entry.model.name == model.name)
        {
            Some(entry) => entry.merge(model, place)?,
            None => merged.push(MergedEntry { model, place }),
        }
    }
    Ok(merged.into_iter().map(|entry| entry.model).collect())
}

struct MergedEntry {
    model: ModelConfig,
    /// The place of the first entry of the name, from 1.
    place: usize,
}

impl MergedEntry {
    fn merge(&mut self, other: ModelConfig, place: usize) -> Result<(), ProviderConfigError> {
        let first = self.place;
        let mine = &mut self.model;
        let conflict = |setting: &'static str| ProviderConfigError::Conflict {
            entry: format!("models.{}", other.name),
            setting,
            first,
            second: place,
        };
        let deployments = other.all_deployments();
        mine.deployments = mine.all_deployments();
        mine.deployments.extend(deployments);
        mine.provider.clear();
        for alias in &other.aliases {
            if !mine.aliases.contains(alias) {
                mine.aliases.push(alias.clone());
            }
        }
        for (setting, mine, other) in [
            ("fallbacks", &mut mine.fallbacks, &other.fallbacks),
            (
                "context_fallbacks",
                &mut mine.context_fallbacks,
                &other.context_fallbacks,
            ),
            (
                "content_filter_fallbacks",
                &mut mine.content_filter_fallbacks,
                &other.content_filter_fallbacks,
            ),
        ] {
            if mine.is_empty() {
                mine.clone_from(other);
            } else if !other.is_empty() && mine != other {
                return Err(conflict(setting));
            }
        }
        share(&mut mine.strategy, &other.strategy).map_err(|()| conflict("strategy"))?;
        share(&mut mine.cooldown, &other.cooldown).map_err(|()| conflict("cooldown"))?;
        share(&mut mine.sticky, &other.sticky).map_err(|()| conflict("sticky"))
    }
}

fn share<T: Clone + PartialEq>(mine: &mut Option<T>, other: &Option<T>) -> Result<(), ()> {
    let Some(other) = other else {
        return Ok(());
    };
    if mine.as_ref().is_some_and(|mine| mine != other) {
        return Err(());
    }
    *mine = Some(other.clone());
    Ok(())
}
