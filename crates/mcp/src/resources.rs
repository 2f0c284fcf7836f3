//! Resources: every file of every skill, and the files that the session's code made.

use crate::desk::{Desk, Open};
use crate::page::page;
use crate::supply::Skills;
use crate::uri::{self, Address};
use crate::{extension, index};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prowess_sandbox::collect::mime_type;
use prowess_skill::manifest::ManifestFile;
use prowess_toolbox::Member;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};

/// Most bytes of a file of the session that are sent at once.
const MOST_READ: u64 = 32 << 20;

/// The templates' names, by which their arguments are completed.
pub(crate) const OF_SKILLS: &str = "skill://{name}/{+path}";
pub(crate) const OF_SESSION: &str = "sandbox:/mnt/data/{+path}";

/// A page of all resources: skills by name, then what the session has made.
pub(crate) async fn list(
    desk: &Desk,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let open = desk.refreshed().await?;
    let made = made(open).await?;
    one_page(&open.skills(), &made, cursor)
}

fn one_page(
    skills: &Skills,
    made: &[Resource],
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let of_skills = skills.members.iter().flat_map(|member| {
        let files = member.skill.manifest.files().iter();
        files.map(move |file| (key(&member.skill.name, file), Listed::Skill(member, file)))
    });
    let made = made.iter();
    let made = made.map(|file| (format!("~{}", file.name), Listed::Made(file)));
    let page = page(of_skills.chain(made), cursor, |_| 1)?;
    let items = page.items.into_iter().map(|listed| match listed {
        Listed::Skill(member, file) => file_of(member, file),
        Listed::Made(file) => file.clone(),
    });
    let mut result = ListResourcesResult::with_all_items(items.collect());
    result.next_cursor = page.next;
    Ok(result)
}

enum Listed<'a> {
    Skill(&'a Member, &'a ManifestFile),
    Made(&'a Resource),
}

/// Sorts files of skills as they are listed, and before those of the session.
fn key(skill: &str, file: &ManifestFile) -> String {
    format!("!{skill}\0{}", file.path)
}

/// The files that the session's code made, by path.
async fn made(open: &Open) -> Result<Vec<Resource>, ErrorData> {
    let Some(workspace) = open.toolbox.workspace() else {
        return Ok(Vec::new());
    };
    // A session that has expired has no files; the next call makes another.
    let mut files = workspace.list().await.unwrap_or_default();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let resource = |file: prowess_sandbox::FileInfo| {
        let mime = mime_type(&file.path, b"");
        Resource::new(uri::made_file(&file.path), file.path)
            .with_mime_type(mime)
            .with_size(file.size)
    };
    Ok(files.into_iter().map(resource).collect())
}

/// A file of a skill, as it is listed.
pub(crate) fn file_of(member: &Member, file: &ManifestFile) -> Resource {
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
        .with_mime_type(mime_of(member, path))
        .with_size(file.size)
}

fn mime_of(member: &Member, path: &str) -> &'static str {
    let data = member.skill.bundle.get(path).map(|file| &file.data);
    let head = data.map(|data| data.get(..512).unwrap_or(data));
    mime_type(path, head.unwrap_or_default())
}

/// What URIs look like.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    ListResourceTemplatesResult::with_all_items(vec![
        ResourceTemplate::new(OF_SKILLS, "skill-file")
            .with_title("A file of a skill")
            .with_description("Any file of a skill, such as its SKILL.md."),
        ResourceTemplate::new(OF_SESSION, "session-file")
            .with_title("A file of this session")
            .with_description("A file in the sandbox's working folder, made by a tool."),
    ])
}

/// The content of a resource.
pub(crate) async fn read(desk: &Desk, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let open = desk.open().await?;
    let contents = match uri::parse(uri) {
        Some(Address::Index) => index::contents(open),
        Some(Address::Skill {
            name,
            path: Some(path),
        }) => skill_file(open, uri, &name, &path)?,
        Some(Address::Skill { name, path: None }) if open.skill(&name).is_some() => {
            return Err(ErrorData::invalid_params(
                format!(
                    "{} is a folder; read it with {}",
                    uri::shown(uri),
                    extension::DIRECTORY
                ),
                None,
            ));
        }
        Some(Address::Made(path)) => made_file(open, uri, &path).await?,
        _ => return Err(unknown(uri)),
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn skill_file(
    open: &Open,
    uri: &str,
    name: &str,
    path: &str,
) -> Result<ResourceContents, ErrorData> {
    let member = open.skill(name).ok_or_else(|| unknown(uri))?;
    let file = member.skill.bundle.get(path).ok_or_else(|| unknown(uri))?;
    let mime = match path == member.skill.bundle.skill_file().as_str() {
        true => "text/markdown",
        false => mime_of(&member, path),
    };
    Ok(contents(uri, mime, &file.data))
}

async fn made_file(open: &Open, uri: &str, path: &str) -> Result<ResourceContents, ErrorData> {
    let workspace = open.toolbox.workspace().ok_or_else(|| unknown(uri))?;
    let files = workspace.list().await.unwrap_or_default();
    let file = files.iter().find(|file| file.path == path);
    let file = file.ok_or_else(|| unknown(uri))?;
    if file.size > MOST_READ {
        let message = format!(
            "{} has {} bytes, and {MOST_READ} is the most that is sent at once",
            uri::shown(uri),
            file.size
        );
        return Err(ErrorData::invalid_params(message, None));
    }
    let data = workspace.get(path).await.map_err(|_| unknown(uri))?;
    let mime = mime_type(path, data.get(..512).unwrap_or(&data));
    Ok(contents(uri, mime, &data))
}

/// Text as it is, byte for byte, and everything else in base64.
fn contents(uri: &str, mime: &str, data: &[u8]) -> ResourceContents {
    let contents = match std::str::from_utf8(data) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(_) => ResourceContents::blob(STANDARD.encode(data), uri),
    };
    contents.with_mime_type(mime)
}

fn unknown(uri: &str) -> ErrorData {
    let message = format!("there is no resource {}", uri::shown(uri));
    let data = serde_json::json!({ "uri": uri::shown(uri) });
    ErrorData::resource_not_found(message, Some(data))
}
