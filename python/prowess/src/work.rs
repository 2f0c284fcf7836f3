//! An operation, implemented once, that can be waited for or awaited.
//!
//! Waiting releases the interpreter's lock and handles Ctrl-C. An operation that is
//! interrupted, or whose awaiting task is cancelled, is dropped with everything it started.

use std::pin::Pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, PyErr};
use pyo3_async_runtimes::generic::future_into_py;
use pyo3_async_runtimes::tokio::get_runtime;
use tokio::runtime::Runtime;

use crate::failure::PyFailure;
use crate::in_flight::CountingRuntime;

/// How often signals are checked.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The process that owns the runtime's threads.
static OWNER: OnceLock<u32> = OnceLock::new();

/// The result, converted once there is an interpreter.
type WorkOutput = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;
type WorkFuture = Pin<Box<dyn Future<Output = Result<WorkOutput, PyFailure>> + Send>>;

/// An operation that has not started. It can run once.
#[pyclass(frozen, module = "prowess._native")]
pub(crate) struct Work(Mutex<Option<WorkFuture>>);

impl Work {
    /// An operation whose result can be converted to Python.
    pub(crate) fn new<T>(
        future: impl Future<Output = Result<T, PyFailure>> + Send + 'static,
    ) -> Self
    where
        T: for<'py> IntoPyObject<'py> + Send + 'static,
    {
        let future = async move {
            let value = future.await?;
            let answer: WorkOutput = Box::new(move |py| value.into_py_any(py));
            Ok(answer)
        };
        Work(Mutex::new(Some(Box::pin(future))))
    }

    fn take(&self) -> PyResult<WorkFuture> {
        let mut future = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let done = || PyRuntimeError::new_err("this operation has already run");
        future.take().ok_or_else(done)
    }
}

#[pymethods]
impl Work {
    /// Runs the operation and returns its result.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let runtime = runtime()?;
        let future = self.take()?;
        let answer = py.detach(|| runtime.block_on(run_until_done(future)))?;
        answer(py)
    }

    /// Starts the operation, and returns an awaitable for the running asyncio loop.
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        runtime()?;
        let future = self.take()?;
        future_into_py::<CountingRuntime, _, _>(py, async move {
            let answer = future.await?;
            Python::attach(answer)
        })
    }
}

/// The runtime. A forked process has none of its threads, and would wait forever.
fn runtime() -> Result<&'static Runtime, PyFailure> {
    let this = std::process::id();
    if *OWNER.get_or_init(|| this) == this {
        return Ok(get_runtime());
    }
    let why = "prowess was used before this process was forked, and does not work in it; use \
               the start method `spawn` of multiprocessing, or import it only in the new process";
    Err(PyFailure::new("ProwessError", "forked", why))
}

async fn run_until_done(mut future: WorkFuture) -> PyResult<WorkOutput> {
    loop {
        match tokio::time::timeout(SIGNAL_CHECK_INTERVAL, &mut future).await {
            Ok(done) => return done.map_err(PyErr::from),
            Err(_) => Python::attach(|py| py.check_signals())?,
        }
    }
}
