//! The tenant that a container is counted for. A container in which packages are built has
//! an internal owner, so that no request can name it, but counts for the tenant.

/// First character of internal owners. No tenant's name can contain it.
const INTERNAL_PREFIX: char = '\0';

/// The tenant that an owner's containers, commands and connections are counted for: the
/// owner itself, or the tenant in the name of an internal one (`"\0PURPOSE TENANT"`).
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
