//! The checks of the installation, as the operator sees them: what `prowess doctor` prints.

use serde_json::Value;

use crate::api::{Api, PageError};
use crate::format::text;

const DOCTOR: &str = "/v1/admin/doctor";

/// A part of the installation.
pub(super) struct DoctorPart {
    pub(super) name: String,
    pub(super) badge: &'static str,
    pub(super) state: String,
    pub(super) detail: String,
    /// What to do.
    pub(super) advice: String,
}

/// Has the server check its installation.
pub(super) async fn load(api: &Api) -> Result<Vec<DoctorPart>, PageError> {
    let answer: Value = api.get(DOCTOR).await?;
    let parts = answer.get("data").and_then(Value::as_array);
    Ok(parts.into_iter().flatten().map(DoctorPart::read).collect())
}

impl DoctorPart {
    fn read(value: &Value) -> DoctorPart {
        let state = text(value, "state");
        DoctorPart {
            name: text(value, "part"),
            badge: match state.as_str() {
                "ok" => "ok",
                "note" => "warn",
                _ => "bad",
            },
            state,
            detail: text(value, "detail"),
            advice: text(value, "advice"),
        }
    }
}
