//! Whose account a session is on. A session in which packages are built has an owner of its
//! own, so that no request can name it; what it takes is the tenant's all the same.

/// First character of owners that are no tenants. No tenant's name can have it.
const INTERNAL_PREFIX: char = '\0';

/// The tenant that an owner's sessions, turns and connections are counted for: the owner
/// itself, or the tenant in the name of an internal one (`"\0PURPOSE TENANT"`).
pub(crate) fn tenant_for_owner(owner: &str) -> &str {
    let internal = owner.strip_prefix(INTERNAL_PREFIX);
    let parts = internal.and_then(|name| name.split_once(' '));
    parts.map_or(owner, |(_, tenant)| tenant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_owners_are_on_the_account_of_their_tenant() {
        for (owner, expected) in [
            ("acme", "acme"),
            ("two words", "two words"),
            ("", ""),
            ("\0layers acme", "acme"),
            ("\0layers two words", "two words"),
            ("\0layers ", ""),
            ("\0probe", "\0probe"),
        ] {
            assert_eq!(tenant_for_owner(owner), expected, "{owner:?}");
        }
    }
}
