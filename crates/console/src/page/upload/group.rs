//! Which of the files that somebody dropped are one skill: each archive is one, and so is each
//! folder with a SKILL.md, with all that is in it.

use std::collections::BTreeMap;

use super::form::SentFile;

/// File names that end so are archives.
const ARCHIVE_ENDINGS: [&str; 4] = [".zip", ".skill", ".tar.gz", ".tgz"];

/// Files of one skill.
#[derive(Debug)]
pub(super) struct FileGroup {
    /// What people know it by: the name of the archive or of the folder.
    pub(super) title: String,
    pub(super) content: GroupContent,
}

#[derive(Debug)]
pub(super) enum GroupContent {
    Archive(SentFile),
    /// With the skill's own folder as the first part of their names, if it has one.
    Files(Vec<SentFile>),
}

/// Files by skill, and how many belong to none.
pub(super) fn group(files: Vec<SentFile>) -> (Vec<FileGroup>, usize) {
    let (archives, loose): (Vec<_>, Vec<_>) = files.into_iter().partition(is_archive);
    let mut groups: Vec<FileGroup> = archives
        .into_iter()
        .map(|file| FileGroup {
            title: file.name.clone(),
            content: GroupContent::Archive(file),
        })
        .collect();
    let roots = roots(&loose);
    if roots.is_empty() && groups.is_empty() && !loose.is_empty() {
        // The check says what is missing.
        groups.push(FileGroup {
            title: "files".to_owned(),
            content: GroupContent::Files(loose),
        });
        return (groups, 0);
    }
    let mut by_root: BTreeMap<String, Vec<SentFile>> = BTreeMap::new();
    let mut strays = 0;
    for mut file in loose {
        let Some(root) = roots.iter().find(|root| is_below(&file.name, root)) else {
            strays += 1;
            continue;
        };
        file.name = below_parent(&file.name, root);
        by_root.entry(root.clone()).or_default().push(file);
    }
    groups.extend(by_root.into_iter().map(|(root, files)| FileGroup {
        title: match root.rsplit('/').next() {
            None | Some("") => "SKILL.md".to_owned(),
            Some(folder) => folder.to_owned(),
        },
        content: GroupContent::Files(files),
    }));
    (groups, strays)
}

fn is_archive(file: &SentFile) -> bool {
    let name = file.name.to_ascii_lowercase();
    let is_named_so = ARCHIVE_ENDINGS.iter().any(|ending| name.ends_with(ending));
    // An archive among the files of a skill is one of its files.
    is_named_so && !name.contains('/')
}

/// Folders with a SKILL.md that are in no other such folder.
fn roots(files: &[SentFile]) -> Vec<String> {
    let mut roots: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let (folder, name) = file.name.rsplit_once('/').unwrap_or(("", &file.name));
            name.eq_ignore_ascii_case("SKILL.md")
                .then(|| folder.to_owned())
        })
        .collect();
    roots.sort();
    roots.dedup();
    let all = roots.clone();
    roots.retain(|root| {
        let mut others = all.iter().filter(|other| *other != root);
        !others.any(|other| is_below(root, other))
    });
    roots
}

fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
}

/// A name from the folder on in which the skill's folder is.
fn below_parent(path: &str, root: &str) -> String {
    match root.rsplit_once('/') {
        Some((parent, _)) => {
            let rest = path.strip_prefix(parent).unwrap_or(path);
            rest.trim_start_matches('/').to_owned()
        }
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(names: &[&str]) -> (Vec<String>, usize) {
        let files = names.iter().map(|name| SentFile {
            name: (*name).to_owned(),
            data: "x".into(),
        });
        let (groups, strays) = group(files.collect());
        let shown = groups.iter().map(|group| match &group.content {
            GroupContent::Archive(file) => format!("{}={}", group.title, file.name),
            GroupContent::Files(files) => {
                let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
                format!("{}={}", group.title, names.join(","))
            }
        });
        (shown.collect(), strays)
    }

    #[test]
    fn each_folder_with_a_skill_and_each_archive_is_one() {
        assert_eq!(
            grouped(&["a/SKILL.md", "a/x/y.py"]),
            (vec!["a=a/SKILL.md,a/x/y.py".to_owned()], 0)
        );
        assert_eq!(
            grouped(&[
                "all/a/SKILL.md",
                "all/b/skill.md",
                "all/b/c/SKILL.md",
                "all/README"
            ]),
            (
                vec![
                    "a=a/SKILL.md".to_owned(),
                    "b=b/skill.md,b/c/SKILL.md".to_owned()
                ],
                1
            )
        );
        assert_eq!(
            grouped(&["one.zip", "two.SKILL"]),
            (
                vec![
                    "one.zip=one.zip".to_owned(),
                    "two.SKILL=two.SKILL".to_owned()
                ],
                0
            )
        );
        assert_eq!(
            grouped(&["SKILL.md", "data/x.zip"]),
            (vec!["SKILL.md=SKILL.md,data/x.zip".to_owned()], 0)
        );
    }

    #[test]
    fn files_without_a_skill_are_checked_all_the_same() {
        assert_eq!(grouped(&["a.txt"]), (vec!["files=a.txt".to_owned()], 0));
        assert_eq!(grouped(&[]), (Vec::new(), 0));
    }
}
