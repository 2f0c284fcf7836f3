//! Pages of code hosts that are a repository, or a folder of one.

use percent_encoding::percent_decode_str;
use url::Url;

use super::error::FetchError;

/// A host whose pages are `OWNER/REPO` and `OWNER/REPO/<tree>/REF/PATH`. The part
/// after the tree word is taken for the name of the branch, tag or commit; one that
/// has a `/` in it is written with `%2F`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryHost {
    /// The host, with its port if it is not the usual one.
    pub host: String,
    /// Path segments between the repository and the branch.
    pub tree_segments: Vec<String>,
    /// Where a gzipped tar of the repository is, with `{owner}`, `{repo}` and `{ref}`.
    pub archive: String,
}

/// A folder of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RepositoryFolder {
    /// The archive of the repository.
    pub(super) archive: Url,
    /// The folder; the whole repository when empty.
    pub(super) folder: String,
    /// Default name of a skill at the top of the repository.
    pub(super) repo: String,
}

impl RepositoryHost {
    /// The built-in hosts.
    pub fn known() -> Vec<RepositoryHost> {
        let rows: [(&str, &[&str], &str); 2] = [
            (
                "github.com",
                &["tree", "blob"],
                "https://codeload.github.com/{owner}/{repo}/tar.gz/{ref}",
            ),
            (
                "gitlab.com",
                &["-/tree", "-/blob"],
                "https://gitlab.com/{owner}/{repo}/-/archive/{ref}/{repo}.tar.gz",
            ),
        ];
        rows.into_iter()
            .map(|(host, tree, archive)| RepositoryHost {
                host: host.to_owned(),
                tree_segments: tree.iter().map(|word| (*word).to_owned()).collect(),
                archive: archive.to_owned(),
            })
            .collect()
    }

    /// The repository folder of a URL of this host, if it is one.
    fn parse(&self, url: &Url) -> Option<Result<RepositoryFolder, FetchError>> {
        if authority(url) != self.host {
            return None;
        }
        let path = url.path().trim_matches('/');
        let mut parts = path.splitn(3, '/');
        let (owner, repo) = (parts.next()?, parts.next()?);
        let rest = parts.next().unwrap_or_default();
        let repo = repo.strip_suffix(".git").unwrap_or(repo);
        if owner.is_empty() || repo.is_empty() {
            return None;
        }
        let (reference, folder) = match rest {
            "" => ("HEAD", ""),
            rest => {
                let after = self
                    .tree_segments
                    .iter()
                    .find_map(|word| rest.strip_prefix(word.as_str())?.strip_prefix('/'))?;
                after.split_once('/').unwrap_or((after, ""))
            }
        };
        let archive = self
            .archive
            .replace("{owner}", owner)
            .replace("{repo}", repo)
            .replace("{ref}", &reference.replace("%2F", "/").replace("%2f", "/"));
        let archive =
            Url::parse(&archive).map_err(|error| FetchError::Malformed(error.to_string()));
        Some(archive.and_then(|archive| {
            Ok(RepositoryFolder {
                archive,
                folder: folder_path(folder)?,
                repo: repo.to_owned(),
            })
        }))
    }
}

/// The folder that a path names; a SKILL.md means its folder.
fn folder_path(path: &str) -> Result<String, FetchError> {
    let decoded = percent_decode_str(path).decode_utf8();
    let path = decoded.map_err(|_| FetchError::Malformed("its path is not UTF-8".to_owned()))?;
    let path = path.trim_matches('/');
    let (folder, last) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = if last.eq_ignore_ascii_case("SKILL.md") {
        folder
    } else {
        path
    };
    Ok(folder.to_owned())
}

/// The repository folder of a URL, if one of the hosts matches.
pub(super) fn find_repository(
    url: &Url,
    hosts: &[RepositoryHost],
) -> Option<Result<RepositoryFolder, FetchError>> {
    hosts.iter().find_map(|host| host.parse(url))
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match find_repository(&Url::parse(text).unwrap(), &RepositoryHost::known()) {
            None => "-".to_owned(),
            Some(Err(error)) => error.code().to_owned(),
            Some(Ok(tree)) => format!("{} [{}]", tree.archive, tree.folder),
        }
    }

    #[test]
    fn pages_of_repositories_stand_for_their_archives() {
        let pages = [
            "https://github.com/o/r",
            "https://www.github.com/o/r.git/",
            "https://github.com/o/r/tree/v1.2",
            "https://github.com/o/r/tree/main/skills/pdf%20forms/",
            "https://github.com/o/r/blob/main/skills/pdf/SKILL.md",
            "https://github.com/o/r/tree/feat%2Fx/skills",
            "https://gitlab.com/o/r/-/tree/main/skills",
            "https://github.com/o/r/tree/main/%ff",
            "https://github.com/o/r/releases/download/v1/x.zip",
            "https://github.com/o",
            "https://github.com.evil.test/o/r",
            "https://github.com:8443/o/r",
        ];
        let shown: Vec<_> = pages.iter().map(|page| shown(page)).collect();
        insta::assert_snapshot!(shown.join("\n"), @"
        https://codeload.github.com/o/r/tar.gz/HEAD []
        https://codeload.github.com/o/r/tar.gz/HEAD []
        https://codeload.github.com/o/r/tar.gz/v1.2 []
        https://codeload.github.com/o/r/tar.gz/main [skills/pdf forms]
        https://codeload.github.com/o/r/tar.gz/main [skills/pdf]
        https://codeload.github.com/o/r/tar.gz/feat/x [skills]
        https://gitlab.com/o/r/-/archive/main/r.tar.gz [skills]
        url-malformed
        -
        -
        -
        -
        ");
    }
}
