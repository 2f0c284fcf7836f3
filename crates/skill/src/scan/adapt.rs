//! Turns a loaded skill or a bundle into the scanner's input.

use super::{Subject, SubjectFile};
use crate::bundle::Bundle;
use crate::fields::allowed_tools::AllowedTools;
use crate::skill::Skill;

impl<'a> Subject<'a> {
    /// A bundle of which nothing could be read but its files.
    pub fn from_bundle(bundle: &'a Bundle) -> Subject<'a> {
        let files = bundle.files().map(|(path, file)| SubjectFile {
            path: path.as_str(),
            data: &file.data,
            executable: file.executable,
        });
        Subject {
            files: files.collect(),
            skill_file: bundle.skill_file().as_str(),
            ..Subject::default()
        }
    }

    /// A loaded skill.
    pub fn from_skill(skill: &'a Skill) -> Subject<'a> {
        let allowed_tools = match &skill.allowed_tools {
            AllowedTools::Only(patterns) => Some(patterns.iter().map(String::as_str).collect()),
            AllowedTools::Unstated | AllowedTools::Distrusted => None,
        };
        Subject {
            name: Some(&skill.name),
            description: Some(&skill.description),
            allowed_tools,
            frontmatter_keys: skill.frontmatter.keys().map(String::as_str).collect(),
            ..Subject::from_bundle(&skill.bundle)
        }
    }
}
