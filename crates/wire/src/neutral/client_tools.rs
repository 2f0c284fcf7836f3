//! Tools with more than a plain name in the client's dialect: functions of a namespace,
//! tools defined by an item of the input, and tools that the client runs itself.
//!
//! In the neutral conversation each has one plain name. This table maps it to the form that
//! the client expects in calls.

use std::collections::HashMap;

use super::Map;

/// The tools of a request with more than a plain name in the client's dialect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientTools {
    tools: Vec<ClientTool>,
    by_name: HashMap<String, usize>,
    by_member: HashMap<(String, String), usize>,
    /// The fields of each namespace, without its tools, by name.
    pub(crate) namespaces: HashMap<String, Map>,
}

/// One tool, and its form in the client's dialect.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientTool {
    /// Its name in the neutral conversation.
    pub(crate) name: String,
    pub(crate) form: ClientToolForm,
    pub(crate) place: ToolPlace,
}

/// The form of a tool in the client's dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientToolForm {
    /// By its name alone.
    Plain,
    /// As a member of a namespace.
    Member { namespace: String, name: String },
    /// As a kind of tool that the client runs itself, with calls of their own kind.
    ClientRun(ClientToolKind),
}

/// A kind of tool that Responses clients run themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientToolKind {
    LocalShell,
    Shell,
    ApplyPatch,
    ToolSearch,
}

/// Where a client defined a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolPlace {
    /// In the list of tools.
    Tools,
    /// In an item of the input, which is retained for servers that support such items.
    Input,
    /// Nowhere but in a past call.
    Past,
}

impl ClientTools {
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    pub(crate) fn add(&mut self, tool: ClientTool) {
        let at = self.tools.len();
        if let ClientToolForm::Member { namespace, name } = &tool.form {
            let member = (namespace.clone(), name.clone());
            self.by_member.entry(member).or_insert(at);
        }
        self.by_name.entry(tool.name.clone()).or_insert(at);
        self.tools.push(tool);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ClientTool> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// The plain name of a namespace's member.
    pub(crate) fn member(&self, namespace: &str, name: &str) -> Option<&str> {
        let member = (namespace.to_owned(), name.to_owned());
        let at = self.by_member.get(&member)?;
        Some(&self.tools.get(*at)?.name)
    }

    /// All members of namespaces with their plain names.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&(String, String), &str)> {
        self.by_member
            .iter()
            .filter_map(|(member, at)| Some((member, self.tools.get(*at)?.name.as_str())))
    }

    /// The plain names of a namespace's members, in their order.
    pub(crate) fn members_of(&self, of_namespace: &str) -> impl Iterator<Item = &str> {
        self.tools.iter().filter_map(move |tool| match &tool.form {
            ClientToolForm::Member { namespace, .. } if namespace == of_namespace => {
                Some(tool.name.as_str())
            }
            _ => None,
        })
    }

    /// The kind of a tool that the client runs itself.
    pub(crate) fn client_run_kind(&self, name: &str) -> Option<ClientToolKind> {
        match self.get(name)?.form {
            ClientToolForm::ClientRun(runner) => Some(runner),
            _ => None,
        }
    }

    /// The name of the client's own tool of a kind.
    pub(crate) fn name_for_kind(&self, kind: ClientToolKind) -> Option<&str> {
        let mut tools = self.tools.iter();
        let found = tools.find(|tool| tool.form == ClientToolForm::ClientRun(kind))?;
        Some(&found.name)
    }
}

impl ClientToolKind {
    /// The kind of a tool, if it is one that the client runs.
    pub(crate) fn from_kind(kind: &str, fields: &Map) -> Option<Self> {
        let text = |value: Option<&serde_json::Value>, key: &str| {
            Some(value?.get(key)?.as_str()?.to_owned())
        };
        match kind {
            "local_shell" => Some(ClientToolKind::LocalShell),
            "apply_patch" => Some(ClientToolKind::ApplyPatch),
            // Without an environment, as the tool was at first, it is the client's too.
            "shell" => match text(fields.get("environment"), "type").as_deref() {
                None | Some("local") => Some(ClientToolKind::Shell),
                Some(_) => None,
            },
            "tool_search" => match fields.get("execution")?.as_str()? {
                "client" => Some(ClientToolKind::ToolSearch),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type of the tool, in tools and choices, and its default plain name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ClientToolKind::LocalShell => "local_shell",
            ClientToolKind::Shell => "shell",
            ClientToolKind::ApplyPatch => "apply_patch",
            ClientToolKind::ToolSearch => "tool_search",
        }
    }
}
