//! Ids as clients send them.

/// The stored id. LiteLLM's clients send `litellm_skill_…` or `litellm:skill_…` for `skill_…`.
pub(crate) fn canonical_skill_id(written: &str) -> &str {
    let bare = written
        .strip_prefix("litellm_")
        .or_else(|| written.strip_prefix("litellm:"));
    bare.filter(|id| id.starts_with("skill_"))
        .unwrap_or(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_from_litellm_mean_ours() {
        assert_eq!(canonical_skill_id("skill_1"), "skill_1");
        assert_eq!(canonical_skill_id("litellm_skill_1"), "skill_1");
        assert_eq!(canonical_skill_id("litellm:skill_1"), "skill_1");
        assert_eq!(canonical_skill_id("litellm_other"), "litellm_other");
    }
}
