//! Requirements as text, for other hosts. What is read is parsed by the same strict rules as
//! the files of a skill.

use super::npm::NpmProject;
use super::requirements::{NpmRequirements, Requirements};
use crate::error::Error;
use prowess_skill::Digest;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// Requirements in the form in which they are sent and stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RequirementsText {
    /// One of PEP 508 per line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    python: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    npm: Option<NpmText>,
    /// Why the npm packages that skills require are not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    npm_refused: Option<String>,
}

/// The files for npm.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct NpmText {
    /// `package.json`.
    manifest: String,
    /// `package-lock.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lock: Option<String>,
}

impl Serialize for Requirements {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RequirementsText::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Requirements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = RequirementsText::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl From<&Requirements> for RequirementsText {
    fn from(requirements: &Requirements) -> Self {
        let (npm, npm_refused) = match requirements.npm() {
            NpmRequirements::None => (None, None),
            NpmRequirements::Project(project) => {
                let (manifest, lock) = (project.manifest.clone(), project.lock.clone());
                (Some(NpmText { manifest, lock }), None)
            }
            NpmRequirements::Refused(why) => (None, Some(why.clone())),
        };
        Self {
            python: requirements.text().to_owned(),
            npm,
            npm_refused,
        }
    }
}

impl RequirementsText {
    fn parse(self) -> Result<Requirements, Error> {
        let npm = match (self.npm, self.npm_refused) {
            (Some(npm), _) => NpmProject::parse(&npm.manifest, npm.lock.as_deref())?
                .map_or(NpmRequirements::None, NpmRequirements::Project),
            (None, Some(why)) => NpmRequirements::Refused(why),
            (None, None) => NpmRequirements::None,
        };
        Ok(Requirements::parse(&self.python)?.with_npm(npm))
    }
}

impl Requirements {
    /// The digest of what is required, the same on every host. A layer also depends on the
    /// interpreter, the index and the registry of its host.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut parts = vec!["prowess-requirements-v1", self.text()];
        match self.npm() {
            NpmRequirements::None => {}
            NpmRequirements::Project(project) => {
                let lock = project.lock.as_deref().unwrap_or_default();
                parts.extend(["npm", project.manifest.as_str(), lock]);
            }
            NpmRequirements::Refused(why) => parts.extend(["npm-refused", why.as_str()]),
        }
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Digest::from_hash(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::{SkillFile, SkillFiles};
    use serde_json::{Value, json};

    const LOCK: &str = r#"{"lockfileVersion": 3, "packages": {
        "": {"dependencies": {"docx": "^9"}},
        "node_modules/docx": {"version": "9.1.0", "integrity": "sha512-AAAA",
            "dependencies": {"jszip": "^3"}},
        "node_modules/jszip": {"version": "3.10.1", "integrity": "sha512-BBBB"}}}"#;

    fn required(files: &[(&str, &str)]) -> Requirements {
        let file = |(path, text): &(&str, &str)| SkillFile {
            path: (*path).into(),
            bytes: text.as_bytes().to_vec().into(),
            executable: false,
        };
        let skill = SkillFiles {
            name: "s".into(),
            digest: "d".into(),
            files: files.iter().map(file).collect(),
        };
        Requirements::from_skill(&skill).unwrap().unwrap()
    }

    #[test]
    fn requirements_are_the_same_on_another_host() {
        let manifest = r#"{"dependencies": {"docx": "^9"}}"#;
        let hash = format!("b[x]==1 --hash=sha256:{}", "ab".repeat(32));
        let list = format!("A.b>=1; python_version < '3.13'\n{hash}\n");
        let mut digests = Vec::new();
        let skills: [&[(&str, &str)]; 5] = [
            &[("requirements.txt", list.as_str())],
            &[("package.json", manifest)],
            &[("package.json", manifest), ("package-lock.json", LOCK)],
            &[("package.json", manifest), ("requirements.txt", "a")],
            &[("package.json", "{"), ("requirements.txt", "a")],
        ];
        for files in skills {
            let here = required(files);
            let sent = serde_json::to_string(&here).unwrap();
            let there: Requirements = serde_json::from_str(&sent).unwrap();
            assert_eq!(there, here);
            assert_eq!(there.digest(), here.digest());
            assert_eq!(there.key("i", "p", "n"), here.key("i", "p", "n"));
            digests.push(here.digest());
        }
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), 5);
    }

    #[test]
    fn what_is_sent_is_read_by_the_same_rules_as_a_skill() {
        let manifest = |spec: &str| json!({"dependencies": {"a": spec}}).to_string();
        let lock = LOCK.replace("sha512-AAAA", "none");
        for text in [
            json!({"python": "--index-url http://evil"}),
            json!({"python": "a @ https://evil/a.whl"}),
            json!({"npm": {"manifest": manifest("file:../a")}}),
            json!({"npm": {"manifest": manifest("^9"), "lock": lock}}),
            json!({"npm": {"manifest": "{"}}),
        ] {
            assert!(
                serde_json::from_value::<Requirements>(text.clone()).is_err(),
                "{text}"
            );
        }
        let scripts = r#"{"dependencies": {"a": "1"}, "scripts": {"install": "evil"}}"#;
        let text = json!({"npm": {"manifest": scripts}, "unknown": 1});
        let read: Requirements = serde_json::from_value(text).unwrap();
        let sent: Value = serde_json::to_value(&read).unwrap();
        assert!(!sent.to_string().contains("evil"), "{sent}");
    }
}
