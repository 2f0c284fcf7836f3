//! Ids as clients write them.

/// The id that is meant. Those who come from LiteLLM write `litellm_skill_…` or
/// `litellm:skill_…` for `skill_…`.
pub(crate) fn skill(written: &str) -> &str {
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
        assert_eq!(skill("skill_1"), "skill_1");
        assert_eq!(skill("litellm_skill_1"), "skill_1");
        assert_eq!(skill("litellm:skill_1"), "skill_1");
        assert_eq!(skill("litellm_other"), "litellm_other");
    }
}
