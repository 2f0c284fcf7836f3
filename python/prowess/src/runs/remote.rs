//! Runs on a server: a streamed request of Anthropic's Messages API. Skills that the server
//! does not have are part of the request. Dropping the connection cancels the run.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prowess_client::{Client, Error, RemoteEvents};
use prowess_skill::{ArchiveLayout, Skill as Checked};
use prowess_wire::{Dialect, StreamReader};
use serde_json::{Map, Value, json};

use super::given::{self, GivenFile, GivenSkill};
use super::remote_events::{RemoteProgress, RunNews};
use super::request::{RunSettings, offer_code};
use crate::failure::PyFailure;

/// Maximum size of all skills that are part of a request, packed.
const MAX_INLINE_BYTES: usize = 16 << 20;

/// Maximum size of a file that is read.
const MAX_READ_BYTES: usize = 512 << 20;

/// How long input files are stored: they are placed in the container when the run starts.
const INPUT_RETENTION: Duration = Duration::from_secs(3600);

/// Output tokens per turn of a request that has no limit: the API needs one.
const DEFAULT_MAX_TOKENS: u64 = 8192;

/// A server.
pub(super) struct ServerPlace(Arc<Client>);

/// A run on a server.
pub(super) struct RemoteRun {
    client: Arc<Client>,
    events: RemoteEvents,
    reader: StreamReader,
    progress: RemoteProgress,
    /// Events that were read and not yet returned.
    waiting: VecDeque<Value>,
    ended: bool,
}

impl ServerPlace {
    pub(super) fn new(server: &str, key: Option<String>) -> Result<Self, PyFailure> {
        Ok(ServerPlace(Arc::new(Client::new(Some(server), key)?)))
    }

    pub(super) async fn start(
        &self,
        settings: &RunSettings,
        skills: Vec<GivenSkill>,
        files: Vec<GivenFile>,
    ) -> Result<RemoteRun, PyFailure> {
        given::check_files(&files, settings.code)?;
        let skills = self.selectors(skills).await?;
        let mut ids = Vec::with_capacity(files.len());
        for file in files {
            let (name, content) = given::read_file(file).await?;
            let uploaded = self.0.upload_file(&name, content, INPUT_RETENTION).await;
            ids.push(uploaded.map_err(refused)?.id);
        }
        let mut body = settings.body(&ids)?;
        let mut container = Map::new();
        if let Some(id) = &settings.container {
            container.insert("id".to_owned(), json!(id));
        }
        if !skills.is_empty() {
            container.insert("skills".to_owned(), skills.into());
        }
        let needs_run = !container.is_empty() || !ids.is_empty();
        if !container.is_empty() {
            body.insert("container".to_owned(), container.into());
        }
        if needs_run && settings.code {
            offer_code(&mut body);
        }
        body.entry("max_tokens")
            .or_insert_with(|| json!(DEFAULT_MAX_TOKENS));
        let started = self.0.stream_message(&Value::Object(body)).await;
        let started = started.map_err(refused)?;
        Ok(RemoteRun {
            client: Arc::clone(&self.0),
            events: started.events,
            reader: StreamReader::new(Dialect::Messages, Default::default()),
            progress: RemoteProgress::new(started.run),
            waiting: VecDeque::new(),
            ended: false,
        })
    }

    async fn selectors(&self, skills: Vec<GivenSkill>) -> Result<Vec<Value>, PyFailure> {
        let mut selectors = Vec::with_capacity(skills.len());
        let mut packed_bytes = 0;
        for skill in skills {
            selectors.push(match skill {
                GivenSkill::Id { id, version } => selector(&id, version.as_deref()),
                GivenSkill::Named(name) => match self.0.find(&name).await {
                    Ok(found) => selector(&found.id, None),
                    Err(Error::NotFound(_)) => return Err(given::unknown_name(&name)),
                    Err(error) => return Err(error.into()),
                },
                GivenSkill::Loaded(skill) => inline(&skill, &mut packed_bytes)?,
            });
        }
        Ok(selectors)
    }

    pub(super) async fn read(&self, file: &str) -> Result<Vec<u8>, PyFailure> {
        let mut content = self.0.file_content(file).await.map_err(refused)?;
        let mut all = Vec::new();
        while let Some(chunk) = content.next().await? {
            if all.len() + chunk.len() > MAX_READ_BYTES {
                let why = format!("{file}: is larger than {MAX_READ_BYTES} bytes");
                return Err(PyFailure::new("ServerError", "file-too-large", why));
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }
}

fn selector(id: &str, version: Option<&str>) -> Value {
    match version {
        Some(version) => json!({"type": "custom", "skill_id": id, "version": version}),
        None => json!({"type": "custom", "skill_id": id}),
    }
}

/// A skill that is part of the request.
fn inline(skill: &Checked, packed_bytes: &mut usize) -> Result<Value, PyFailure> {
    let unpackable = |why: String| PyFailure::new("SkillError", "skill-unpackable", why);
    let layout = ArchiveLayout::wrapped(&skill.name);
    let layout = layout.map_err(|error| unpackable(error.to_string()))?;
    let zip = skill.bundle.to_zip(&layout);
    let zip = zip.map_err(|error| unpackable(error.to_string()))?;
    *packed_bytes += zip.len();
    if *packed_bytes > MAX_INLINE_BYTES {
        let why = format!(
            "the skills have more than {MAX_INLINE_BYTES} bytes when packed; store `{}` with \
             Client.push_skill, and name it by its id",
            skill.name
        );
        return Err(PyFailure::new("UsageError", "skills-too-large", why));
    }
    Ok(json!({
        "type": "inline",
        "name": skill.name,
        "description": skill.description,
        "source": {
            "type": "base64",
            "media_type": "application/zip",
            "data": STANDARD.encode(zip),
        },
    }))
}

/// An error of the server as one of the run.
fn refused(error: Error) -> PyFailure {
    match error {
        Error::Refused {
            message,
            status,
            code,
            request,
        } => {
            let code = if code == "-" {
                "server-refused"
            } else {
                code.as_str()
            };
            let request = Some(request.as_str()).filter(|request| *request != "-");
            PyFailure::run(code, message, Some(status), request)
        }
        error => error.into(),
    }
}

impl RemoteRun {
    pub(super) async fn next(&mut self) -> Result<Option<Value>, PyFailure> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            if self.ended {
                return Ok(None);
            }
            let events = match self.events.next().await? {
                Some(event) => self.reader.push(&event.bytes),
                // A response that did not end is an error event.
                None => self.reader.finish(),
            };
            for event in events {
                let news = self.progress.push(event)?;
                self.take(news).await?;
            }
        }
    }

    /// Adds what an event says to the events that wait.
    async fn take(&mut self, news: Vec<RunNews>) -> Result<(), PyFailure> {
        for news in news {
            match news {
                RunNews::Event(event) => self.waiting.push_back(event),
                RunNews::File(id) => {
                    let file = self.client.file(&id).await.map_err(refused)?;
                    self.waiting.push_back(self.progress.add_file(&file));
                }
                RunNews::Ended => {
                    self.ended = true;
                    self.waiting.push_back(self.progress.ended()?);
                }
            }
        }
        Ok(())
    }
}
