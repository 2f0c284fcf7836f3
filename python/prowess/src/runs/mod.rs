//! Runs of a model with skills: in this process, by the library, or on a server.
//!
//! Both give the same events, as JSON text: those of `prowess run --json`, and at the end
//! `ended` with the whole result. What runs is dropped, and thereby cancelled, when a run is
//! closed or no longer referenced.
//!
//! | module | owns |
//! |---|---|
//! | `request` | the request, as Python gives it |
//! | `given` | skills and files as a program names them |
//! | `local` | runs in this process |
//! | `remote` | runs on a server |
//! | `remote_events` | what the stream of a server says about its run |
//! | `event_json` | events that both have |

mod event_json;
mod given;
mod local;
mod remote;
mod remote_events;
mod request;

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};

use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::get_runtime;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::failure::PyFailure;
use crate::skill_source::Source;
use crate::work::Work;
use given::{GivenFile, GivenSkill, SkillPlace};
use local::{LocalPlace, LocalRun, LocalSettings};
use remote::{RemoteRun, ServerPlace};
use request::RunSettings;

/// Where runs take place.
enum Place {
    Here(LocalPlace),
    Server(ServerPlace),
}

/// What starts runs; none when it was closed.
#[pyclass(frozen, module = "prowess._native")]
pub(crate) struct Runner(SyncMutex<Option<Arc<Place>>>);

/// A run in progress.
#[pyclass(frozen, module = "prowess._native")]
pub(crate) struct Run(Arc<Mutex<RunState>>);

struct RunState {
    /// None when the run has ended, or was closed.
    active: Option<ActiveRun>,
    deadline: Option<Instant>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one of them for each run, behind a reference"
)]
enum ActiveRun {
    Here(LocalRun),
    Server(RemoteRun),
}

impl Place {
    async fn start(
        &self,
        settings: &RunSettings,
        skills: Vec<GivenSkill>,
        files: Vec<GivenFile>,
    ) -> Result<ActiveRun, PyFailure> {
        Ok(match self {
            Place::Here(place) => ActiveRun::Here(place.start(settings, skills, files).await?),
            Place::Server(place) => ActiveRun::Server(place.start(settings, skills, files).await?),
        })
    }
}

impl ActiveRun {
    async fn next(&mut self) -> Result<Option<Value>, PyFailure> {
        match self {
            ActiveRun::Here(run) => run.next().await,
            ActiveRun::Server(run) => run.next().await,
        }
    }
}

impl RunState {
    async fn next(&mut self) -> Result<Option<String>, PyFailure> {
        let Some(active) = &mut self.active else {
            return Ok(None);
        };
        let event = before(self.deadline, active.next()).await;
        // An event that fails is the last.
        if !matches!(event, Ok(Some(_))) {
            self.active = None;
        }
        Ok(event?.map(|event| event.to_string()))
    }
}

/// Waits for something that must be done before a deadline.
async fn before<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = Result<T, PyFailure>>,
) -> Result<T, PyFailure> {
    match deadline {
        None => work.await,
        Some(deadline) => match timeout_at(deadline, work).await {
            Ok(done) => done,
            Err(_) => Err(PyFailure::run("time-up", "the run timed out", None, None)),
        },
    }
}

impl Runner {
    fn new(place: Place) -> Self {
        Runner(SyncMutex::new(Some(Arc::new(place))))
    }

    fn place(&self) -> Result<Arc<Place>, PyFailure> {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || PyFailure::new("ProwessError", "client-closed", "the client was closed");
        place.clone().ok_or_else(closed)
    }

    fn take(&self) -> Option<Arc<Place>> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }
}

#[pymethods]
impl Runner {
    /// What makes runs in this process.
    #[staticmethod]
    fn open(settings: LocalSettings) -> Work {
        Work::new(async move {
            let place = LocalPlace::open(settings).await?;
            Ok(Runner::new(Place::Here(place)))
        })
    }

    /// What makes runs on a server. Nothing is sent yet.
    #[staticmethod]
    fn connect(server: &str, key: Option<String>) -> PyResult<Runner> {
        let place = ServerPlace::new(server, key)?;
        Ok(Runner::new(Place::Server(place)))
    }

    /// Starts a run. Errors of the request are raised here.
    fn run(
        &self,
        settings: RunSettings,
        skills: Vec<Source<'_>>,
        files: Vec<GivenFile>,
    ) -> PyResult<Work> {
        let place = self.place()?;
        let skills: Vec<_> = skills.into_iter().map(SkillPlace::from).collect();
        Ok(Work::new(async move {
            let deadline = settings.deadline()?;
            let start = async {
                let skills = given::read_skills(skills, &settings.fetch).await?;
                place.start(&settings, skills, files).await
            };
            let active = before(deadline, start).await?;
            Ok(Run(Arc::new(Mutex::new(RunState {
                active: Some(active),
                deadline,
            }))))
        }))
    }

    /// The bytes of a generated file.
    fn read(&self, file: String) -> PyResult<Work> {
        let place = self.place()?;
        Ok(Work::new(async move {
            match &*place {
                Place::Here(place) => place.read(&file).await,
                Place::Server(place) => place.read(&file).await,
            }
        }))
    }

    /// Writes pending records and closes the store, if there is one.
    fn close(&self) -> Work {
        let place = self.take();
        Work::new(async move {
            if let Some(Place::Here(place)) = place.as_deref() {
                place.close().await;
            }
            Ok(())
        })
    }
}

impl Drop for Runner {
    /// What it has open needs the runtime to be closed.
    fn drop(&mut self) {
        let _runtime = get_runtime().enter();
        drop(self.take());
    }
}

#[pymethods]
impl Run {
    /// The next event, as JSON; none after the last.
    fn next(&self) -> Work {
        let state = Arc::clone(&self.0);
        Work::new(async move { state.lock().await.next().await })
    }

    /// Cancels the run, unless it has ended.
    fn close(&self) -> Work {
        let state = Arc::clone(&self.0);
        Work::new(async move {
            state.lock().await.active = None;
            Ok(())
        })
    }
}

impl Drop for Run {
    /// A run without references is cancelled; its parts need the runtime for that.
    fn drop(&mut self) {
        let _runtime = get_runtime().enter();
        if let Ok(mut state) = self.0.try_lock() {
            state.active = None;
        }
    }
}
