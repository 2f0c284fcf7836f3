//! `/console/containers`: where the code of runs works, and the files in there.
//!
//! | module | owns |
//! |---|---|
//! | `answer` | containers and files, as the API has them |
//! | `list` | all containers |
//! | `show` | one container with its files |
//! | `delete` | the button that deletes one |

mod answer;
mod delete;
mod list;
mod show;

use axum::Router;
use axum::routing::{get, post};

use crate::state::ConsoleState;

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/containers", get(list::list))
        .route("/console/containers/{container}", get(show::show))
        .route(
            "/console/containers/{container}/delete",
            post(delete::delete),
        )
}
