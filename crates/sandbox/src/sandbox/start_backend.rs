//! Which backends this build has, and starting the one that the settings name. A backend
//! that is missing is reported like a host that lacks something: with the reason and what
//! to do instead.

use crate::backend::SandboxBackend;
use crate::error::Error;
use crate::probe::Probe;
#[cfg(any(not(target_os = "linux"), not(feature = "docker")))]
use crate::probe::{Grade, missing_check};
use crate::settings::{BackendKind, SandboxSettings};
use std::path::Path;
use std::sync::Arc;

/// The result of probing the host, and the backend unless the host is refused.
pub(super) type StartedBackend = (Probe, Option<Arc<dyn SandboxBackend>>);

/// Probes the host and starts the backend, whose files are in `state`.
pub(super) async fn start_backend(
    state: &Path,
    settings: &SandboxSettings,
) -> Result<StartedBackend, Error> {
    match &settings.backend {
        #[cfg(target_os = "linux")]
        BackendKind::Native => crate::native::probe(state, settings).await,
        #[cfg(not(target_os = "linux"))]
        BackendKind::Native => Ok(missing_backend(
            "native",
            "the native sandbox needs Linux",
            "use the docker backend (backend = \"docker\" under [sandbox] in prowess.toml), or \
             run Prowess in a Linux VM or container",
        )),
        #[cfg(feature = "docker")]
        BackendKind::Docker(docker) => Ok(crate::docker::probe(docker, state, settings).await),
        #[cfg(not(feature = "docker"))]
        BackendKind::Docker(_) => Ok(missing_backend(
            "docker",
            "this build has no Docker support",
            "build Prowess with the feature docker, or use the native backend",
        )),
    }
}

#[cfg(any(not(target_os = "linux"), not(feature = "docker")))]
fn missing_backend(name: &str, reason: &str, advice: &str) -> StartedBackend {
    let checks = vec![missing_check(name, reason.into(), advice)];
    let reason = reason.into();
    let grade = Grade::Refused { reason };
    (Probe { grade, checks }, None)
}

/// Why a backend never has a layer, without paths of the host.
pub(super) fn explain_missing(backend: &BackendKind, layer: &str) -> Option<&'static str> {
    match backend {
        #[cfg(feature = "docker")]
        BackendKind::Docker(_) => crate::docker::explain_missing(layer),
        _ => {
            let _ = layer;
            None
        }
    }
}
