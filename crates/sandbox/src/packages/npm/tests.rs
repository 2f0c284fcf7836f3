//! npm dependencies, as they are read from skills and rendered for the installer.

use super::*;
use crate::skills::SkillFile;
use serde_json::Value;

fn skill(name: &str, files: &[(&str, &str)]) -> SkillFiles {
    let file = |(path, text): &(&str, &str)| SkillFile {
        path: (*path).into(),
        bytes: text.as_bytes().to_vec().into(),
        executable: false,
    };
    SkillFiles {
        name: name.into(),
        digest: "d".into(),
        files: files.iter().map(file).collect(),
    }
}

const LOCK: &str = r#"{"name": "x", "lockfileVersion": 3, "packages": {
    "": {"dependencies": {"docx": "^9"}, "scripts": {"install": "evil"}},
    "node_modules/docx": {"version": "9.1.0", "resolved": "http://evil/docx.tgz",
        "integrity": "sha512-AAAA", "hasInstallScript": true, "dependencies": {"jszip": "^3"}},
    "node_modules/jszip": {"version": "3.10.1", "integrity": "sha512-BBBB", "optional": true},
    "node_modules/jest": {"version": "1.0.0", "dev": true, "link": true}}}"#;

const MANIFEST: &str = r#"{"dependencies": {"docx": "^9"}, "scripts": {"install": "evil"},
    "devDependencies": {"x": "file:../x"}, "workspaces": ["a"]}"#;

#[test]
fn only_names_versions_and_digests_reach_the_installer() {
    let files = [("package.json", MANIFEST), ("package-lock.json", LOCK)];
    let project = NpmProject::from_skills(&[skill("a", &files)]);
    let project = project.unwrap().unwrap();
    let lock = project.lock.unwrap();
    for text in [&project.manifest, &lock] {
        assert!(!text.contains("evil") && !text.contains("jest"), "{text}");
    }
    let lock: Value = serde_json::from_str(&lock).unwrap();
    let docx = &lock["packages"]["node_modules/docx"];
    assert_eq!(docx["version"], "9.1.0");
    assert_eq!(docx["integrity"], "sha512-AAAA");
    assert_eq!(lock["packages"][""]["dependencies"]["docx"], "^9");
    let manifest: Value = serde_json::from_str(&project.manifest).unwrap();
    assert_eq!(manifest["dependencies"]["docx"], "^9");
}

#[test]
fn what_is_not_of_the_registry_is_refused_with_its_file() {
    for spec in [
        "file:../a",
        "git+https://h/r",
        "https://h/a.tgz",
        "u/r",
        "workspace:*",
    ] {
        let manifest = format!("{{\"dependencies\": {{\"a\": \"{spec}\"}}}}");
        let asking = skill("s", &[("scripts/package.json", &manifest)]);
        let message = NpmProject::from_skills(&[asking]).unwrap_err().to_string();
        assert!(message.contains("in s/scripts/package.json"), "{message}");
    }
    for change in [
        ("\"integrity\": \"sha512-BBBB\", ", ""),
        ("node_modules/jszip\"", "../jszip\""),
        ("\"3.10.1\"", "\"file:x\""),
        ("\"optional\": true", "\"link\": true"),
        ("\"jszip\": \"^3\"", "\"jszip\": \"github:u/r\""),
    ] {
        let lock = LOCK.replace(change.0, change.1);
        assert_ne!(lock, LOCK);
        let files = [
            ("package.json", MANIFEST),
            ("package-lock.json", lock.as_str()),
        ];
        let message = NpmProject::from_skills(&[skill("s", &files)]);
        let message = message.unwrap_err().to_string();
        assert!(message.contains("in s/package-lock.json"), "{message}");
    }
}

#[test]
fn skills_of_one_container_must_agree() {
    let manifest = |spec: &str| format!("{{\"dependencies\": {{\"docx\": \"{spec}\"}}}}");
    let one = skill(
        "a",
        &[("package.json", MANIFEST), ("package-lock.json", LOCK)],
    );
    let same = skill("b", &[("package.json", &manifest("9.1.0"))]);
    let other = skill("c", &[("package.json", &manifest("^8"))]);
    let agreed = NpmProject::from_skills(&[one.clone(), same])
        .unwrap()
        .unwrap();
    assert!(agreed.manifest.contains("9.1.0") && agreed.lock.is_none());
    assert!(NpmProject::from_skills(&[one, other]).is_err());
    let nothing = skill("d", &[("package.json", "{\"name\": \"d\"}")]);
    assert_eq!(NpmProject::from_skills(&[nothing]).unwrap(), None);
}
