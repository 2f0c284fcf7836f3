//! The skills extension, `io.modelcontextprotocol/skills`: `skills/list`, `skills/get` and
//! `resources/directory/read`, as specified by SEP-2640.

use crate::page::paginate;
use crate::request_permit::json_bytes;
use crate::session::McpSession;
use crate::skill_resource::skill_resource;
use crate::uri::{self, ResourceUri};
use prowess_skill::manifest::ManifestFile;
use prowess_skill::upload::is_portable_name;
use prowess_toolbox::Member;
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult, ErrorCode, ProtocolVersion, Resource};
use serde_json::{Map, Value, json};

/// The method that reads a folder.
pub(crate) const READ_DIRECTORY_METHOD: &str = "resources/directory/read";

/// Limits that every host accepts for one skill; servers should not exceed them.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 << 20;

/// Bytes of frontmatter that count as much as a file in a page: nothing else bounds them.
const FRONTMATTER_BYTES_PER_ITEM: usize = 4 << 10;

/// Handles the extension's methods.
pub(crate) async fn handle_request(
    session: &McpSession,
    request: &CustomRequest,
    version: Option<&ProtocolVersion>,
) -> Result<CustomResult, ErrorData> {
    let params = RequestParams(request.params.as_ref());
    let modern = version.is_some_and(|version| *version >= ProtocolVersion::V_2026_07_28);
    let (mut result, fresh) = match request.method.as_str() {
        "skills/list" => (list(session, params.text("cursor")?).await?, true),
        "skills/get" => (get(session, params.uri()?).await?, true),
        READ_DIRECTORY_METHOD => {
            let cursor = params.text("cursor")?;
            (read_directory(session, params.uri()?, cursor).await?, false)
        }
        other => {
            let method: String = other.chars().take(200).collect();
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
    };
    // These fields belong to the base protocol since that version.
    if modern {
        result.insert("resultType".into(), json!("complete"));
        if fresh {
            // Folders may change at any time, so results must not be cached.
            result.insert("ttlMs".into(), json!(0));
            result.insert("cacheScope".into(), json!("private"));
        }
    }
    Ok(CustomResult::new(Value::Object(result)))
}

/// Whether a skill conforms to the standard and to the limits of hosts. Others are still
/// served as tools, prompts and resources.
pub(crate) fn conforms(member: &Member) -> bool {
    let skill = &member.skill;
    let field_text = |field: &str| skill.frontmatter.get(field).and_then(Value::as_str);
    is_portable_name(&skill.name)
        && field_text("name") == Some(&skill.name)
        && field_text("description").is_some_and(|text| !text.trim().is_empty())
        && skill.bundle.skill_file().as_str() == "SKILL.md"
        && skill.manifest.files().len() <= MAX_FILES
        && skill.manifest.total_bytes() <= MAX_BYTES
}

async fn list(session: &McpSession, cursor: Option<&str>) -> Result<Map<String, Value>, ErrorData> {
    let skills = session.refresh().await?.skills();
    let published = skills.members.iter().filter(|member| conforms(member));
    let published = published.map(|member| (member.skill.name.clone(), member));
    let weight = |member: &&Member| {
        let frontmatter = json_bytes(&member.skill.frontmatter);
        member.skill.manifest.files().len() + frontmatter / FRONTMATTER_BYTES_PER_ITEM
    };
    let page = paginate(published, cursor, weight)?;
    let mut result = Map::new();
    let entries = page.items.into_iter().map(entry);
    result.insert("skills".into(), entries.collect());
    if let Some(next) = page.next_cursor {
        result.insert("nextCursor".into(), next.into());
    }
    Ok(result)
}

async fn get(session: &McpSession, uri: &str) -> Result<Map<String, Value>, ErrorData> {
    let state = session.refresh().await?;
    let found = match uri::parse(uri) {
        Some(ResourceUri::Skill { name, path }) if path.as_deref() == Some("SKILL.md") => {
            state.skill(&name).filter(conforms)
        }
        _ => None,
    };
    let member = found.ok_or_else(|| {
        let message = format!("no skill is served at {}", uri::display_uri(uri));
        ErrorData::invalid_params(message, None)
    })?;
    Ok(Map::from_iter([("skill".to_owned(), entry(&member))]))
}

/// A skill with all its files.
fn entry(member: &Member) -> Value {
    let skill = &member.skill;
    let files = skill.manifest.files().iter().map(|file| {
        json!({
            "uri": uri::skill_file(&skill.name, file.path.as_str()),
            "digest": format!("sha256:{}", file.digest.hex()),
            "size": file.size,
        })
    });
    json!({
        "uri": uri::skill_file(&skill.name, skill.bundle.skill_file().as_str()),
        "frontmatter": skill.frontmatter,
        "resources": files.collect::<Vec<_>>(),
    })
}

async fn read_directory(
    session: &McpSession,
    uri: &str,
    cursor: Option<&str>,
) -> Result<Map<String, Value>, ErrorData> {
    let state = session.refresh().await?;
    let found = match uri::parse(uri) {
        Some(ResourceUri::Skill { name, path }) => state
            .skill(&name)
            .and_then(|member| children(&member, path.as_deref().unwrap_or_default())),
        _ => None,
    };
    let children = found.ok_or_else(|| {
        let message = format!("{} is not a folder", uri::display_uri(uri));
        ErrorData::invalid_params(message, None)
    })?;
    let keyed = children.into_iter().map(|child| (child.uri.clone(), child));
    let page = paginate(keyed, cursor, |_| 1)?;
    let mut result = Map::new();
    result.insert("resources".into(), json!(page.items));
    if let Some(next) = page.next_cursor {
        result.insert("nextCursor".into(), next.into());
    }
    Ok(result)
}

/// The direct children of a folder of a skill, by URI; none if it does not exist.
fn children(member: &Member, folder: &str) -> Option<Vec<Resource>> {
    let prefix = match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let inside = |file: &ManifestFile| file.path.as_str().starts_with(&prefix);
    let mut found: Vec<Resource> = Vec::new();
    for file in member.skill.manifest.files().iter().filter(|f| inside(f)) {
        let rest = file.path.as_str().strip_prefix(&prefix)?;
        let child = match rest.split_once('/') {
            None => skill_resource(member, file),
            Some((name, _)) => {
                let uri = uri::skill_file(&member.skill.name, &format!("{prefix}{name}"));
                Resource::new(uri, name).with_mime_type("inode/directory")
            }
        };
        found.push(child);
    }
    found.sort_by(|a, b| a.uri.cmp(&b.uri));
    found.dedup_by(|a, b| a.uri == b.uri);
    (!found.is_empty()).then_some(found)
}

/// The arguments of a request.
struct RequestParams<'a>(Option<&'a Value>);

impl<'a> RequestParams<'a> {
    fn text(&self, name: &str) -> Result<Option<&'a str>, ErrorData> {
        match self.0.and_then(|params| params.get(name)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => {
                let message = format!("`{name}` must be a string");
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }

    fn uri(&self) -> Result<&'a str, ErrorData> {
        self.text("uri")?
            .ok_or_else(|| ErrorData::invalid_params("`uri` is missing", None))
    }
}
