//! Names, ranges, versions and digests of npm packages: the words of a `package.json` and its
//! lock that may reach the installer.

/// Maximum bytes of one word.
const MAX_WORD_BYTES: usize = 400;

/// Endings by which npm takes a range for the path of an archive.
const ARCHIVES: [&str; 3] = [".tgz", ".tar.gz", ".tar"];

/// Kinds of digests.
const DIGESTS: [&str; 4] = ["sha512-", "sha384-", "sha256-", "sha1-"];

/// Whether this is the name of a package in a registry.
pub(crate) fn is_npm_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let outer = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let inner = |c: char| outer(c) || "-_.".contains(c);
        part.starts_with(outer) && part.chars().all(inner)
    };
    if name.len() > MAX_WORD_BYTES {
        return false;
    }
    match name.strip_prefix('@') {
        None => is_part(name),
        Some(scoped) => {
            let parts = scoped.split_once('/');
            parts.is_some_and(|(scope, part)| is_part(scope) && is_part(part))
        }
    }
}

/// Whether this is what a dependency may be: a range of versions, a tag, or those of another
/// package in the registry (`npm:NAME@RANGE`).
pub(super) fn is_npm_spec(text: &str) -> bool {
    match text.strip_prefix("npm:") {
        None => is_range(text),
        Some(other) => match other.rsplit_once('@') {
            Some((name, range)) if !name.is_empty() => is_npm_name(name) && is_range(range),
            _ => is_npm_name(other),
        },
    }
}

/// Without slashes, colons, hashes and a dot at the beginning it is no path, address or
/// repository.
fn is_range(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || " .^~<>=|*+-_".contains(c);
    let lower = text.to_ascii_lowercase();
    text.len() <= MAX_WORD_BYTES
        && text.chars().all(allowed)
        && !text.trim_start().starts_with('.')
        && !ARCHIVES
            .iter()
            .any(|ending| lower.trim_end().ends_with(ending))
}

/// Whether this is one version.
pub(super) fn is_npm_version(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    text.len() <= MAX_WORD_BYTES
        && text.chars().all(allowed)
        && numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
}

/// Whether these are digests of an archive, one or more.
pub(super) fn is_npm_integrity(text: &str) -> bool {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let is_digest = |word: &str| {
        let value = DIGESTS.iter().find_map(|kind| word.strip_prefix(kind));
        value.is_some_and(|value| !value.is_empty() && value.chars().all(is_base64))
    };
    text.len() <= MAX_WORD_BYTES && !text.is_empty() && text.split(' ').all(is_digest)
}

/// Whether this is a place in a tree of packages: `node_modules/A/node_modules/B`.
pub(super) fn is_tree_path(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("node_modules/") else {
        return false;
    };
    rest.len() <= 4 * MAX_WORD_BYTES && rest.split("/node_modules/").all(is_npm_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_registry_can_be_named() {
        for good in [
            "1.2.3",
            "^1.0.0",
            "~2.1",
            ">=1 <2",
            "1.x || 2.x",
            "*",
            "",
            "latest",
            "1 - 2",
            "1.0.0-beta.1+x",
            "npm:string-width@^4.2.0",
            "npm:@a/b@1",
            "npm:a",
        ] {
            assert!(is_npm_spec(good), "{good:?}");
        }
        for bad in [
            "file:../a",
            "./a",
            "../a",
            "/a",
            "~/a",
            "link:a",
            "workspace:*",
            "git+ssh://h/r",
            "git://h/r",
            "http://h/a.tgz",
            "https://h/a",
            "user/repo",
            "user/repo#main",
            "github:user/repo",
            "a.tgz",
            "a.TAR.GZ",
            "npm:a@file:b",
            "npm:../a@1",
            "a\nb",
            "a\\b",
            "a@1",
            ".",
            "$(x)",
        ] {
            assert!(!is_npm_spec(bad), "{bad:?}");
        }
        for bad in [
            "", "A", ".a", "_a", "a/b", "@a", "@a/", "@/a", "../a", "a b", "@a/b/c",
        ] {
            assert!(!is_npm_name(bad), "{bad:?}");
        }
        assert!(is_npm_name("@a/b.c-d_e") && is_npm_name("docx"));
        assert!(
            is_npm_version("1.2.3-rc.1") && !is_npm_version("1.2") && !is_npm_version("^1.2.3")
        );
        assert!(is_npm_integrity("sha512-AbC+/= sha1-x") && !is_npm_integrity("md5-x"));
        assert!(is_tree_path("node_modules/@a/b/node_modules/c"));
        for bad in [
            "",
            "a",
            "node_modules/..",
            "node_modules/a/../b",
            "packages/a",
        ] {
            assert!(!is_tree_path(bad), "{bad:?}");
        }
    }
}
