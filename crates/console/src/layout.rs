//! What all pages have: title, navigation, who is signed in, and the page as a request of the
//! API.

use crate::assets;
use crate::visitor::Visitor;

/// What the template of all pages needs.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) title: String,
    pub(crate) nav: Nav,
    /// Empty if nobody has signed in.
    pub(crate) key_name: String,
    pub(crate) is_operator: bool,
    pub(crate) can_write: bool,
    /// What this page shows, as a command.
    pub(crate) curl: Option<String>,
    /// The tenant whose data the page shows, if it is not the default one.
    pub(crate) tenant: Option<String>,
    /// Whether the server lets everybody on its machine in, without a key.
    pub(crate) without_sign_in: bool,
    base_url: String,
    scopes: Vec<String>,
}

/// A part of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nav {
    Skills,
    Playground,
    Runs,
    Containers,
    Usage,
    Keys,
    Providers,
    Audit,
    Settings,
}

/// A link of the navigation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NavLink {
    pub(crate) href: &'static str,
    pub(crate) label: &'static str,
    pub(crate) is_current: bool,
}

impl Nav {
    const ALL: [Nav; 9] = [
        Nav::Skills,
        Nav::Playground,
        Nav::Runs,
        Nav::Containers,
        Nav::Usage,
        Nav::Keys,
        Nav::Providers,
        Nav::Audit,
        Nav::Settings,
    ];

    fn href(self) -> &'static str {
        match self {
            Nav::Skills => "/console/skills",
            Nav::Playground => "/console/playground",
            Nav::Runs => "/console/runs",
            Nav::Containers => "/console/containers",
            Nav::Usage => "/console/usage",
            Nav::Keys => "/console/keys",
            Nav::Providers => "/console/providers",
            Nav::Audit => "/console/audit",
            Nav::Settings => "/console/settings",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Nav::Skills => "Skills",
            Nav::Playground => "Playground",
            Nav::Runs => "Runs",
            Nav::Containers => "Containers",
            Nav::Usage => "Usage",
            Nav::Keys => "Keys",
            Nav::Providers => "Providers",
            Nav::Audit => "Audit",
            Nav::Settings => "Settings",
        }
    }
}

impl Layout {
    pub(crate) fn new(visitor: &Visitor, title: impl Into<String>, nav: Nav) -> Layout {
        Layout {
            title: title.into(),
            nav,
            key_name: visitor.key_name.clone(),
            is_operator: visitor.is_operator,
            can_write: visitor.can_write,
            curl: None,
            tenant: visitor.tenant.clone(),
            without_sign_in: visitor.without_sign_in,
            base_url: visitor.base_url.clone(),
            scopes: visitor.scopes.clone(),
        }
    }

    /// Of a page for those who have not signed in.
    pub(crate) fn signed_out(title: impl Into<String>) -> Layout {
        Layout {
            title: title.into(),
            nav: Nav::Skills,
            key_name: String::new(),
            is_operator: false,
            can_write: false,
            curl: None,
            tenant: None,
            without_sign_in: false,
            base_url: String::new(),
            scopes: Vec::new(),
        }
    }

    /// Names the request of the API that the page shows.
    pub(crate) fn with_curl(mut self, path: &str) -> Layout {
        let url = quote(&format!("{}{path}", self.base_url));
        let mut command = format!("curl {url}");
        if !self.without_sign_in {
            command.push_str(" -H \"x-api-key: $PROWESS_API_KEY\"");
        }
        if let (true, Some(tenant)) = (self.is_operator, &self.tenant) {
            command.push_str(" -H ");
            command.push_str(&quote(&format!("prowess-tenant: {tenant}")));
        }
        self.curl = Some(command);
        self
    }

    /// The URL of an asset.
    pub(crate) fn asset(&self, name: &str) -> &'static str {
        assets::url(name)
    }

    /// Whether somebody looks at the page who may.
    pub(crate) fn is_signed_in(&self) -> bool {
        !self.key_name.is_empty()
    }

    /// The parts that the visitor may open.
    pub(crate) fn links(&self) -> Vec<NavLink> {
        if !self.is_signed_in() {
            return Vec::new();
        }
        let link = |nav: &Nav| NavLink {
            href: nav.href(),
            label: nav.label(),
            is_current: *nav == self.nav,
        };
        let open = Nav::ALL.iter().filter(|nav| self.can_open(**nav));
        open.map(link).collect()
    }

    fn can_open(&self, nav: Nav) -> bool {
        let has = |scopes: &[&str]| {
            let mut own = self.scopes.iter();
            self.is_operator || own.any(|own| own == "admin" || scopes.contains(&own.as_str()))
        };
        match nav {
            Nav::Skills => has(&["read", "publish"]),
            Nav::Playground | Nav::Runs | Nav::Containers => has(&["use"]),
            Nav::Usage | Nav::Keys | Nav::Audit => has(&[]),
            Nav::Providers => self.is_operator,
            // Version and licence are for everybody.
            Nav::Settings => true,
        }
    }
}

/// A word of a POSIX shell.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_stays_one_word() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's $(id)"), r"'it'\''s $(id)'");
    }
}
