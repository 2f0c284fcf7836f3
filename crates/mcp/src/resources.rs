//! Resources: every file of every skill, and the files that the session's code created.

use crate::page::{decode_cursor, paginate};
use crate::session::{McpSession, McpSessionState};
use crate::skill_provider::SkillSet;
use crate::skill_resource::{skill_file_type, skill_resource};
use crate::uri::{self, ResourceUri};
use crate::{extension, index};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prowess_sandbox::FileInfo;
use prowess_sandbox::collect::mime_type;
use prowess_skill::manifest::ManifestFile;
use prowess_toolbox::{CountedList, Member};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};

/// Bytes of a file of the session that are sent at once.
const MAX_READ_BYTES: u64 = 32 << 20;

/// How often a file is in memory while it is read: as bytes, and as text or in base64.
const READ_COPIES: u64 = 3;

/// The URI templates, which also identify them for completion.
pub(crate) const SKILL_FILE_TEMPLATE: &str = "skill://{name}/{+path}";
pub(crate) const SANDBOX_FILE_TEMPLATE: &str = "sandbox:/mnt/data/{+path}";

/// A page of all resources: skills by name, then files of the session.
pub(crate) async fn list(
    session: &McpSession,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let state = session.refresh().await?;
    let mut listed = match state.toolbox.workspace() {
        // An expired container has no files; the next call creates another.
        Some(workspace) => workspace.list_counted().await.unwrap_or_default(),
        None => CountedList::default(),
    };
    listed.files.sort_by(|a, b| a.path.cmp(&b.path));
    resource_page(&state.skills(), &listed.files, cursor)
}

fn resource_page(
    skills: &SkillSet,
    sandbox_files: &[FileInfo],
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    // All skills can have hundreds of thousands of files.
    let after = cursor.map(decode_cursor).transpose()?;
    let is_due = |member: &&Member| after.as_ref().is_none_or(|after| end_key(member) > *after);
    let of_skills = skills.members.iter().filter(is_due).flat_map(|member| {
        let files = member.skill.manifest.files().iter();
        files.map(move |file| {
            (
                sort_key(&member.skill.name, file),
                ListedFile::Skill(member, file),
            )
        })
    });
    let sandbox_files = sandbox_files.iter();
    let sandbox_files =
        sandbox_files.map(|file| (format!("~{}", file.path), ListedFile::Sandbox(file)));
    let page = paginate(of_skills.chain(sandbox_files), cursor, |_| 1)?;
    let items = page.items.into_iter().map(|listed| match listed {
        ListedFile::Skill(member, file) => skill_resource(member, file),
        ListedFile::Sandbox(file) => sandbox_resource(file),
    });
    let mut result = ListResourcesResult::with_all_items(items.collect());
    result.next_cursor = page.next_cursor;
    Ok(result)
}

enum ListedFile<'a> {
    Skill(&'a Member, &'a ManifestFile),
    Sandbox(&'a FileInfo),
}

/// Sorts files of skills as they are listed, and before those of the session.
fn sort_key(skill: &str, file: &ManifestFile) -> String {
    format!("!{skill}\0{}", file.path)
}

/// Sorts behind all files of a skill, and before those of the next.
fn end_key(member: &Member) -> String {
    format!("!{}\u{1}", member.skill.name)
}

/// A file that the session's code created.
fn sandbox_resource(file: &FileInfo) -> Resource {
    let mime = mime_type(&file.path, b"");
    Resource::new(uri::sandbox_file(&file.path), file.path.clone())
        .with_mime_type(mime)
        .with_size(file.size)
}

/// The URI templates.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    ListResourceTemplatesResult::with_all_items(vec![
        ResourceTemplate::new(SKILL_FILE_TEMPLATE, "skill-file")
            .with_title("A file of a skill")
            .with_description("Any file of a skill, such as its SKILL.md."),
        ResourceTemplate::new(SANDBOX_FILE_TEMPLATE, "session-file")
            .with_title("A file of this session")
            .with_description("A file in the sandbox's working directory, created by a tool."),
    ])
}

/// The content of a resource.
pub(crate) async fn read(session: &McpSession, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let state = session.state().await?;
    let contents = match uri::parse(uri) {
        Some(ResourceUri::Index) => index::index_contents(state),
        Some(ResourceUri::Skill {
            name,
            path: Some(path),
        }) => read_skill_file(state, uri, &name, &path)?,
        Some(ResourceUri::Skill { name, path: None }) if state.skill(&name).is_some() => {
            return Err(ErrorData::invalid_params(
                format!(
                    "{} is a folder; read it with {}",
                    uri::display_uri(uri),
                    extension::READ_DIRECTORY_METHOD
                ),
                None,
            ));
        }
        Some(ResourceUri::SandboxFile(path)) => read_sandbox_file(state, uri, &path).await?,
        _ => return Err(not_found(uri)),
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn read_skill_file(
    state: &McpSessionState,
    uri: &str,
    name: &str,
    path: &str,
) -> Result<ResourceContents, ErrorData> {
    let member = state.skill(name).ok_or_else(|| not_found(uri))?;
    let file = member
        .skill
        .bundle
        .get(path)
        .ok_or_else(|| not_found(uri))?;
    let mime = if path == member.skill.bundle.skill_file().as_str() {
        "text/markdown"
    } else {
        skill_file_type(&member, path)
    };
    Ok(to_contents(uri, mime, &file.data))
}

async fn read_sandbox_file(
    state: &McpSessionState,
    uri: &str,
    path: &str,
) -> Result<ResourceContents, ErrorData> {
    let workspace = state.toolbox.workspace().ok_or_else(|| not_found(uri))?;
    let listed = workspace.list_counted().await.unwrap_or_default();
    let file = listed.files.iter().find(|file| file.path == path);
    let size = file.map(|file| file.size).ok_or_else(|| not_found(uri))?;
    drop(listed);
    if size > MAX_READ_BYTES {
        let message = format!(
            "{} has {size} bytes; the limit is {MAX_READ_BYTES}",
            uri::display_uri(uri)
        );
        return Err(ErrorData::invalid_params(message, None));
    }
    let counted = workspace.get_counted(path, READ_COPIES).await;
    let counted = counted.map_err(|_| not_found(uri))?;
    let data = &counted.content;
    let mime = mime_type(path, data.get(..512).unwrap_or(data));
    Ok(to_contents(uri, mime, data))
}

/// Text unchanged, everything else in base64.
fn to_contents(uri: &str, mime: &str, data: &[u8]) -> ResourceContents {
    let contents = match std::str::from_utf8(data) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(_) => ResourceContents::blob(STANDARD.encode(data), uri),
    };
    contents.with_mime_type(mime)
}

fn not_found(uri: &str) -> ErrorData {
    let message = format!("resource {} not found", uri::display_uri(uri));
    let data = serde_json::json!({ "uri": uri::display_uri(uri) });
    ErrorData::resource_not_found(message, Some(data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};

    fn skill(name: &str, files: usize) -> Member {
        let text = format!("---\nname: {name}\ndescription: D.\n---\nText.\n");
        let first = ("SKILL.md".to_owned(), Bytes::from(text), false);
        let more = (0..files).map(|number| (format!("{number}.txt"), Bytes::from("x"), false));
        let all = std::iter::once(first).chain(more);
        let bundle = Bundle::from_files(all, &BundleLimits::default()).unwrap();
        let loaded = Skill::load(bundle, &LoadOptions::default());
        loaded.skill.unwrap().into()
    }

    #[test]
    fn pages_have_every_file_of_every_skill_once() {
        let members = [("a", 150), ("a-b", 0), ("a0", 250), ("b", 20)];
        let members = members.map(|(name, files)| skill(name, files));
        let skills = SkillSet {
            revision: 0,
            members: members.into(),
        };
        let (mut cursor, mut names) = (None::<String>, Vec::new());
        loop {
            let page = resource_page(&skills, &[], cursor.as_deref()).unwrap();
            names.extend(page.resources.iter().map(|one| one.uri.clone()));
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(names.len(), 151 + 1 + 251 + 21);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 151 + 1 + 251 + 21);
    }
}
