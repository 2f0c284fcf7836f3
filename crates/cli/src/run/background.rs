//! `prowess run --background`: a run that a server goes on with alone.

use std::path::Path;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prowess::{SkillRef, load_to_send};
use prowess_client::{Client, Error, SubmittedRun};
use prowess_sandbox::DomainRule;
use prowess_skill::{ArchiveLayout, Skill};
use prowess_source::home::expand;
use prowess_source::url::is_url;
use serde_json::{Value, json};

use super::{Args, read_prompt};
use crate::client::{self, RemoteArgs};
use crate::output::{self, DIM};
use crate::{Exit, usage_error};

/// Maximum size of all skills that are part of the request, packed. The response repeats them.
const MAX_INLINE_BYTES: usize = 4 << 20;

/// A skill as it is named on the command line.
enum RequestedSkill {
    /// Stored on the server.
    Id { id: String, version: Option<String> },
    /// Stored on the server under this name.
    Name(String),
    /// Part of the request.
    Inline(Value),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let server = args.server.clone();
    let server = server.or_else(|| std::env::var("PROWESS_URL").ok());
    let server = server.filter(|url| !url.is_empty()).ok_or_else(|| {
        usage_error(
            "--background needs a server, which goes on with the run: pass --server URL, or set \
             PROWESS_URL",
        )
    })?;
    if args.container.is_some() && !args.allowed.is_empty() {
        let message = "--allow is for a new container; with --background, leave out --container";
        return Err(usage_error(message));
    }
    // Opened before the runtime starts, because fetching a URL starts one too.
    let mut named = Vec::new();
    let mut packed_bytes = 0;
    for skill in &args.skills {
        named.extend(open_skill(args, skill, &mut packed_bytes)?);
    }
    let prompt = read_prompt(&args.prompt)?;
    let client = RemoteArgs::new(Some(server), args.api_key.clone()).connect()?;
    client::block_on(async {
        let mut skills = Vec::new();
        for skill in named {
            skills.push(skill_json(&client, skill).await?);
        }
        match client.submit(&request(args, prompt, skills)).await {
            Ok(submitted) => report(args, &client, &submitted),
            Err(error) => report_refusal(args, error),
        }
    })
}

/// The skill of an id or of a name on the server, or those of a local place or URL.
fn open_skill(
    args: &Args,
    named: &str,
    packed_bytes: &mut usize,
) -> anyhow::Result<Vec<RequestedSkill>> {
    let place = match SkillRef::from(named) {
        SkillRef::Id { id, version } => return Ok(vec![RequestedSkill::Id { id, version }]),
        _ => expand(Path::new(named)).map_err(|error| usage_error(error.to_string()))?,
    };
    if !is_url(&place) && !place.exists() {
        return Ok(vec![RequestedSkill::Name(named.to_owned())]);
    }
    let skills = load_to_send(&place, args.fetch.open_one(&place)?)?;
    let inline = skills.iter().map(|skill| inline_skill(skill, packed_bytes));
    inline.collect()
}

fn inline_skill(skill: &Skill, packed_bytes: &mut usize) -> anyhow::Result<RequestedSkill> {
    let unpackable = || format!("skill `{}` cannot be packed", skill.name);
    let layout = ArchiveLayout::wrapped(&skill.name).with_context(unpackable)?;
    let zip = skill.bundle.to_zip(&layout).with_context(unpackable)?;
    *packed_bytes += zip.len();
    if *packed_bytes > MAX_INLINE_BYTES {
        anyhow::bail!(
            "the skills are larger than {} when packed; upload `{}` with `prowess skill push`, and \
             name it by its id",
            output::format_size(MAX_INLINE_BYTES as u64),
            skill.name
        );
    }
    Ok(RequestedSkill::Inline(json!({
        "type": "inline",
        "name": skill.name,
        "description": skill.description,
        "source": {
            "type": "base64",
            "media_type": "application/zip",
            "data": STANDARD.encode(zip),
        },
    })))
}

async fn skill_json(client: &Client, skill: RequestedSkill) -> anyhow::Result<Value> {
    let (id, version) = match skill {
        RequestedSkill::Inline(skill) => return Ok(skill),
        RequestedSkill::Id { id, version } => (id, version),
        RequestedSkill::Name(name) => match client.find(&name).await {
            Ok(found) => (found.id, None),
            Err(Error::NotFound(_)) => anyhow::bail!(
                "`{name}` is not a folder or an archive here, and no skill of {} has this name",
                client.server()
            ),
            Err(error) => return Err(error.into()),
        },
    };
    // As for a run in this process, no version is the latest one.
    let version = version.unwrap_or_else(|| "latest".to_owned());
    Ok(json!({"type": "skill_reference", "skill_id": id, "version": version}))
}

/// The request, in the Responses API.
fn request(args: &Args, prompt: String, skills: Vec<Value>) -> Value {
    let mut request = json!({"model": args.model, "input": prompt, "background": true});
    if let Some(text) = &args.system {
        set(&mut request, "instructions", text.as_str());
    }
    if let Some(tokens) = args.max_tokens {
        set(&mut request, "max_output_tokens", tokens);
    }
    // Code runs in a container, with skills or without.
    let mut environment = match &args.container {
        Some(id) => json!({"type": "container_reference", "container_id": id}),
        None => json!({"type": "container_auto"}),
    };
    if !skills.is_empty() {
        set(&mut environment, "skills", skills);
    }
    if !args.allowed.is_empty() {
        let domains: Vec<String> = args.allowed.iter().map(DomainRule::to_string).collect();
        let policy = json!({"type": "allowlist", "allowed_domains": domains});
        set(&mut environment, "network_policy", policy);
    }
    let shell = json!({"type": "shell", "environment": environment});
    set(&mut request, "tools", vec![shell]);
    request
}

fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(map) = object.as_object_mut() {
        map.insert(field.to_owned(), value.into());
    }
}

fn report(args: &Args, client: &Client, submitted: &SubmittedRun) -> anyhow::Result<Exit> {
    let SubmittedRun {
        run,
        response,
        status,
    } = submitted;
    if args.json {
        let line = json!({"type": "submitted", "run": run, "response": response, "status": status});
        output::print_json_lines(&format!("{line}\n"))?;
    } else {
        output::print_text(&format!("{run}\n"))?;
        output::print_remark(&format!(
            "{DIM}follow it with: prowess runs attach {run} --server {}{DIM:#}",
            client.server()
        ));
    }
    Ok(Exit::Ok)
}

fn report_refusal(args: &Args, error: Error) -> anyhow::Result<Exit> {
    if !args.json {
        return Err(error.into());
    }
    let line = json!({"type": "error", "code": error.code(), "message": error.to_string()});
    output::print_json_lines(&format!("{line}\n"))?;
    Ok(Exit::Unreadable)
}
