//! Tasks that may still need the interpreter, counted, so that the interpreter can wait
//! for them before it ends.
//!
//! A task that gives its result to asyncio attaches to the interpreter on a thread of the
//! runtime. The program may have ended by the time that thread detaches again, and
//! CPython aborts the process when a thread releases the lock of an interpreter that is
//! being finalised. Python calls [`wait_at_exit`] before that.

use std::cell::OnceCell;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3_async_runtimes::TaskLocals;
use pyo3_async_runtimes::generic::{ContextExt, Runtime};
use pyo3_async_runtimes::tokio::get_runtime;
use tokio::task::{JoinError, JoinHandle};

/// How long a program waits for tasks at exit. They were cancelled or are about to
/// finish; one that takes longer is abandoned, as it would be without waiting.
const MAX_WAIT_AT_EXIT: Duration = Duration::from_secs(2);

static COUNT: Mutex<usize> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

tokio::task_local! {
    static LOCALS: OnceCell<TaskLocals>;
}

/// Counts one task until it is dropped.
struct TaskCount;

impl TaskCount {
    fn new() -> Self {
        *COUNT.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        TaskCount
    }
}

impl Drop for TaskCount {
    fn drop(&mut self) {
        *COUNT.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        CHANGED.notify_all();
    }
}

/// The runtime of `pyo3_async_runtimes`, with every task counted.
pub(crate) struct CountingRuntime;

impl Runtime for CountingRuntime {
    type JoinError = JoinError;
    type JoinHandle = JoinHandle<()>;

    fn spawn<F>(task: F) -> Self::JoinHandle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let counted = TaskCount::new();
        get_runtime().spawn(async move {
            task.await;
            drop(counted);
        })
    }

    fn spawn_blocking<F>(work: F) -> Self::JoinHandle
    where
        F: FnOnce() + Send + 'static,
    {
        let counted = TaskCount::new();
        get_runtime().spawn_blocking(move || {
            work();
            drop(counted);
        })
    }
}

impl ContextExt for CountingRuntime {
    fn scope<F, R>(locals: TaskLocals, task: F) -> Pin<Box<dyn Future<Output = R> + Send>>
    where
        F: Future<Output = R> + Send + 'static,
    {
        Box::pin(LOCALS.scope(OnceCell::from(locals), task))
    }

    fn get_task_locals() -> Option<TaskLocals> {
        let locals = LOCALS.try_with(|cell| cell.get().cloned());
        locals.ok().flatten()
    }
}

/// Waits, without the interpreter's lock and for a bounded time, until no counted task is
/// left.
#[pyfunction]
fn wait_for_tasks(py: Python<'_>) {
    py.detach(|| {
        let count = COUNT.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = CHANGED.wait_timeout_while(count, MAX_WAIT_AT_EXIT, |count| *count > 0);
        drop(waited);
    });
}

/// Makes Python wait for the tasks when it exits.
pub(crate) fn wait_at_exit(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let wait = wrap_pyfunction!(wait_for_tasks, module)?;
    let exit = module.py().import("atexit")?;
    exit.call_method1("register", (wait,)).map(drop)
}
