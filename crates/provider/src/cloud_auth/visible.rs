//! Whether credentials of a cloud are visible without asking a service: in variables or as
//! files. A well-known provider without a configuration counts as ready only then, so that no
//! metadata service is asked by a server that has nothing to do with that cloud.

use std::path::PathBuf;

use crate::env::Env;

/// Variables that name a source of AWS credentials.
const AWS_VARIABLES: [&str; 6] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONFIG_FILE",
];

/// Whether AWS credentials are visible.
pub(crate) fn aws_is_visible(env: &Env) -> bool {
    env.first(&AWS_VARIABLES).is_some()
        || home(env).is_some_and(|home| {
            let folder = home.join(".aws");
            folder.join("credentials").is_file() || folder.join("config").is_file()
        })
}

/// Whether Google credentials are visible.
pub(crate) fn google_is_visible(env: &Env) -> bool {
    env.first(&["GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST"])
        .is_some()
        || prowess_cloud::user_credentials_file(&env.variables()).is_some_and(|file| file.is_file())
}

/// Whether Azure credentials are visible.
pub(crate) fn azure_is_visible(env: &Env) -> bool {
    env.get("IDENTITY_ENDPOINT").is_some()
        || (env.get("AZURE_CLIENT_ID").is_some()
            && env
                .first(&["AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"])
                .is_some())
}

fn home(env: &Env) -> Option<PathBuf> {
    env.first(&["HOME", "USERPROFILE"]).map(PathBuf::from)
}
