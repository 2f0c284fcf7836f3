//! Names of environment variables that a request may set. A variable that programs,
//! loaders, interpreters or tools read as configuration would change what runs or where it
//! connects to.

/// Longest name.
const MAX_BYTES: usize = 100;

/// Names that other programs read.
const NAMES: &[&str] = &[
    "_",
    "CDPATH",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    "DISPLAY",
    "EDITOR",
    "ENV",
    "FPATH",
    "GCONV_PATH",
    "GETCONF_DIR",
    // The path of a key file, not a key.
    "GIT_SSL_KEY",
    "GLOBIGNORE",
    "GOENV",
    "GOFLAGS",
    "GOPATH",
    "GOROOT",
    "HISTFILE",
    "HOME",
    "HOSTALIASES",
    "HOSTNAME",
    "IFS",
    "INPUTRC",
    "LANG",
    "LANGUAGE",
    "LOCALDOMAIN",
    "LOCPATH",
    "LOGNAME",
    "MAIL",
    "MAILPATH",
    "NLSPATH",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "PAGER",
    "PATH",
    "PPID",
    "PROMPT_COMMAND",
    "PWD",
    "RESOLV_HOST_CONF",
    "RUBYLIB",
    "RUBYOPT",
    "SHELL",
    "SHELLOPTS",
    "SHLVL",
    "TEMP",
    "TERM",
    "TERMCAP",
    "TERMINFO",
    "TMP",
    "TMPDIR",
    "TZ",
    "TZDIR",
    "UID",
    "EUID",
    "USER",
    "VIRTUAL_ENV",
    "VISUAL",
];

/// Prefixes of such names.
const PREFIXES: &[&str] = &[
    "BASH",
    "CARGO_BUILD_",
    "CARGO_HOME",
    "CARGO_TARGET_",
    "CLASSPATH",
    "CONDA_",
    "DBUS_",
    "DYLD_",
    "GEM_",
    "GIT_",
    "GLIBC_",
    "JAVA_",
    "JDK_",
    "LC_",
    "LD_",
    "LESS",
    "LUA_",
    "MALLOC_",
    "MALLOPT_",
    "NODE_",
    "NPM_CONFIG_",
    "NSS_",
    "OPENSSL_",
    "PERL",
    "PHP",
    "PIP_",
    "PIPX_",
    "PROWESS_",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PYTHON",
    "REQUESTS_",
    "RES_",
    "RUSTC",
    "RUSTFLAGS",
    "SSH_",
    "SSL_",
    "SSLKEYLOGFILE",
    "SUDO_",
    "UV_",
    "WGETRC",
    "XDG_",
    "ZDOTDIR",
    "_JAVA_",
    "_RLD_",
];

/// Suffixes of secrets, which no program reads as configuration, even with one of the
/// [`PREFIXES`] (`NODE_AUTH_TOKEN`, `GIT_TOKEN`).
const SECRET_SUFFIXES: &[&str] = &["_TOKEN", "_KEY", "_PASSWORD", "_SECRET"];

/// The [`PREFIXES`] that are reserved with any suffix: loaders and interpreters may read
/// more of these in the future, and `PROWESS_` is Prowess's own.
const RESERVED_PREFIXES: &[&str] = &["BASH", "DYLD_", "LD_", "PROWESS_", "PYTHON"];

/// Suffixes of such names.
const SUFFIXES: &[&str] = &["_PROXY", "_CA_BUNDLE", "_CA_CERTS", "_CERT_FILE"];

/// Checks the name of a variable that a request sets.
///
/// # Errors
/// The reason why it cannot be used.
pub fn check_variable(name: &str) -> Result<(), &'static str> {
    let is_letter = |c: char| c.is_ascii_uppercase() || c == '_';
    let fine = |c: char| is_letter(c) || c.is_ascii_digit();
    let is_word = name.starts_with(is_letter) && name.chars().all(fine);
    if !is_word || name.len() > MAX_BYTES {
        return Err("must be 1 to 100 of A-Z, 0-9 and _, and not begin with a digit");
    }
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    let is_secret = ends(SECRET_SUFFIXES) && !begins(RESERVED_PREFIXES);
    let is_taken = NAMES.contains(&name) || ends(SUFFIXES) || (begins(PREFIXES) && !is_secret);
    if is_taken {
        return Err(
            "means something to the system or to programs that run there; choose another name, \
             such as API_KEY",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_steer_programs_are_refused_and_names_of_keys_are_not() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "PATH",
            "http_proxy",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "PYTHONSTARTUP",
            "PYTHONPATH",
            "PIP_INDEX_URL",
            "NODE_OPTIONS",
            "BASH_ENV",
            "BASH_FUNC_ls",
            "ENV",
            "IFS",
            "GIT_SSH_COMMAND",
            "SSL_CERT_FILE",
            "REQUESTS_CA_BUNDLE",
            "AWS_CA_BUNDLE",
            "PERL5OPT",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "HOME",
            "PROMPT_COMMAND",
            "LD_TOKEN",
            "DYLD_KEY",
            "PYTHON_SECRET",
            "PYTHONPATH_TOKEN",
            "BASH_PASSWORD",
            "BASH_FUNC_KEY",
            "PROWESS_TOKEN",
            "NODE_TOKEN_OPTIONS",
            "GIT_SSL_KEY",
            "GIT_TOKENS",
            "SSL_KEY_FILE",
            "",
            "1KEY",
            "K=",
            "KEY-1",
            "Key",
            "KEY\0",
            "SCHLÜSSEL",
        ] {
            assert!(check_variable(name).is_err(), "{name:?}");
        }
        for name in [
            "KEY",
            "API_KEY",
            "GITHUB_TOKEN",
            "GOOGLE_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "NPM_TOKEN",
            "_TOKEN",
            "OPENAI_API_KEY",
            "NODE_AUTH_TOKEN",
            "GIT_TOKEN",
            "GIT_PASSWORD",
            "CONDA_TOKEN",
            "UV_PUBLISH_TOKEN",
            "SSH_PRIVATE_KEY",
            "JAVA_CLIENT_SECRET",
            "X1",
        ] {
            assert_eq!(check_variable(name), Ok(()), "{name:?}");
        }
    }
}
