//! A file of a skill as an MCP resource.

use prowess_sandbox::collect::mime_type;
use prowess_skill::manifest::ManifestFile;
use prowess_toolbox::Member;
use rmcp::model::Resource;

use crate::uri;

/// A file of a skill, as it is listed.
pub(crate) fn skill_resource(member: &Member, file: &ManifestFile) -> Resource {
    let skill = &member.skill;
    let path = file.path.as_str();
    let place = uri::skill_file(&skill.name, path);
    if *skill.bundle.skill_file() == file.path {
        let resource = Resource::new(place, &skill.name)
            .with_description(&skill.description)
            .with_mime_type("text/markdown")
            .with_size(file.size);
        return match &member.title {
            Some(title) => resource.with_title(title),
            None => resource,
        };
    }
    Resource::new(place, file.path.file_name())
        .with_title(format!("{}: {path}", skill.name))
        .with_mime_type(skill_file_type(member, path))
        .with_size(file.size)
}

/// The media type of a skill's file, by its name and first bytes.
pub(crate) fn skill_file_type(member: &Member, path: &str) -> &'static str {
    let data = member.skill.bundle.get(path).map(|file| &file.data);
    let head = data.map(|data| data.get(..512).unwrap_or(data));
    mime_type(path, head.unwrap_or_default())
}
