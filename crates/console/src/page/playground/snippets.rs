//! A request as a program: curl, Python and TypeScript. Every text is quoted for its language,
//! so that a program does what the request does, whatever is in it.

use serde_json::{Map, Value};

use super::request::{MAX_TURNS_HEADER, RunDialect, RunRequestForm};
use crate::layout::quote;

/// The same request, three times.
#[derive(Debug)]
pub(crate) struct Snippets {
    pub(crate) curl: String,
    pub(crate) python: String,
    pub(crate) typescript: String,
}

/// Where and as whom programs call the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SnippetServer<'a> {
    /// Without a final slash.
    pub(crate) base_url: &'a str,
    pub(crate) needs_key: bool,
}

impl Snippets {
    pub(crate) fn new(request: &RunRequestForm, model: &str, server: SnippetServer<'_>) -> Self {
        let body = request.body(model);
        Snippets {
            curl: curl(request, &body, server),
            python: python(request, &body, server),
            typescript: typescript(request, &body, server),
        }
    }
}

fn curl(request: &RunRequestForm, body: &Map<String, Value>, server: SnippetServer<'_>) -> String {
    let url = quote(&format!("{}{}", server.base_url, request.dialect.path()));
    let mut command = format!("curl {url} \\\n  -H 'content-type: application/json' \\\n");
    if server.needs_key {
        command.push_str("  -H \"x-api-key: $PROWESS_API_KEY\" \\\n");
    }
    if let Some(turns) = request.max_turns {
        command.push_str(&format!("  -H '{MAX_TURNS_HEADER}: {turns}' \\\n"));
    }
    let body = serde_json::to_string_pretty(body).unwrap_or_default();
    command.push_str("  -d ");
    command.push_str(&quote(&body));
    command
}

/// The address that an SDK needs: OpenAI's has the version in it.
fn sdk_url(dialect: RunDialect, server: SnippetServer<'_>) -> String {
    let version = match dialect {
        RunDialect::Messages => "",
        RunDialect::Chat | RunDialect::Responses => "/v1",
    };
    let url = format!("{}{version}", server.base_url);
    Value::from(url).to_string()
}

fn python(
    request: &RunRequestForm,
    body: &Map<String, Value>,
    server: SnippetServer<'_>,
) -> String {
    let dialect = request.dialect;
    let (module, class) = match dialect {
        RunDialect::Messages => ("anthropic", "Anthropic"),
        RunDialect::Chat | RunDialect::Responses => ("openai", "OpenAI"),
    };
    let (call, read) = match dialect {
        RunDialect::Messages => ("messages.create", "response.content"),
        RunDialect::Chat => (
            "chat.completions.create",
            "response.choices[0].message.content",
        ),
        RunDialect::Responses => ("responses.create", "response.output_text"),
    };
    let (os, key) = match server.needs_key {
        true => ("import os\n\n", "os.environ[\"PROWESS_API_KEY\"]"),
        false => ("", "\"any\""),
    };
    let url = sdk_url(dialect, server);
    let mut program = format!(
        "{os}import {module}\n\nclient = {module}.{class}(base_url={url}, api_key={key})\n\
         response = client.{call}(\n"
    );
    for (name, value) in body {
        let value = python_literal(value, 1);
        // The SDK has no parameter for it.
        if (dialect, name.as_str()) == (RunDialect::Chat, "container") {
            program.push_str(&format!("    extra_body={{\"container\": {value}}},\n"));
        } else {
            program.push_str(&format!("    {name}={value},\n"));
        }
    }
    if let Some(turns) = request.max_turns {
        program.push_str(&format!(
            "    extra_headers={{\"{MAX_TURNS_HEADER}\": \"{turns}\"}},\n"
        ));
    }
    program.push_str(&format!(")\nprint({read})\n"));
    program
}

/// A value as Python writes it. Strings of JSON are strings of Python.
fn python_literal(value: &Value, depth: usize) -> String {
    let (inner, outer) = ("    ".repeat(depth + 1), "    ".repeat(depth));
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) if !items.is_empty() => {
            let item = |item| format!("{inner}{},\n", python_literal(item, depth + 1));
            let items: String = items.iter().map(item).collect();
            format!("[\n{items}{outer}]")
        }
        Value::Object(fields) if !fields.is_empty() => {
            let field = |(name, value): (&String, &Value)| {
                let name = Value::from(name.as_str());
                format!("{inner}{name}: {},\n", python_literal(value, depth + 1))
            };
            let fields: String = fields.iter().map(field).collect();
            format!("{{\n{fields}{outer}}}")
        }
        other => other.to_string(),
    }
}

fn typescript(
    form: &RunRequestForm,
    body: &Map<String, Value>,
    server: SnippetServer<'_>,
) -> String {
    let dialect = form.dialect;
    let (class, package) = match dialect {
        RunDialect::Messages => ("Anthropic", "@anthropic-ai/sdk"),
        RunDialect::Chat | RunDialect::Responses => ("OpenAI", "openai"),
    };
    let (call, read) = match dialect {
        RunDialect::Messages => ("messages.create", "response.content"),
        RunDialect::Chat => (
            "chat.completions.create",
            "response.choices[0].message.content",
        ),
        RunDialect::Responses => ("responses.create", "response.output_text"),
    };
    let key = match server.needs_key {
        true => "process.env.PROWESS_API_KEY",
        false => "\"any\"",
    };
    let url = sdk_url(dialect, server);
    let request = serde_json::to_string_pretty(body).unwrap_or_default();
    // The SDK's types have no field for skills in this API.
    let kind = match dialect {
        RunDialect::Chat => {
            ": OpenAI.ChatCompletionCreateParamsNonStreaming & { container?: unknown }"
        }
        RunDialect::Messages | RunDialect::Responses => "",
    };
    let (request, argument) = match kind {
        "" => (String::new(), request),
        kind => (
            format!("const request{kind} = {request};\n"),
            "request".to_owned(),
        ),
    };
    let options = match form.max_turns {
        Some(turns) => format!(", {{ headers: {{ \"{MAX_TURNS_HEADER}\": \"{turns}\" }} }}"),
        None => String::new(),
    };
    format!(
        "import {class} from \"{package}\";\n\n\
         const client = new {class}({{ baseURL: {url}, apiKey: {key} }});\n\
         {request}const response = await client.{call}({argument}{options});\n\
         console.log({read});\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::playground::request::{SkillChoice, Temperature};

    const SERVER: SnippetServer<'_> = SnippetServer {
        base_url: "http://127.0.0.1:4141",
        needs_key: true,
    };

    fn request(dialect: RunDialect) -> RunRequestForm {
        RunRequestForm {
            dialect,
            skills: vec![SkillChoice::parse("skill_1@production").unwrap()],
            message: "It's \"mine\" $(id) `x`\nüñ\u{1}".to_owned(),
            max_tokens: Some(100),
            temperature: Temperature::parse("0.5"),
            max_turns: Some(3),
            files: match dialect {
                RunDialect::Chat => Vec::new(),
                _ => vec!["file_1".to_owned()],
            },
        }
    }

    #[test]
    fn each_dialect_has_its_programs() {
        let mut all = String::new();
        for dialect in RunDialect::ALL {
            let snippets = Snippets::new(&request(dialect), "gpt", SERVER);
            for text in [snippets.curl, snippets.python, snippets.typescript] {
                all.push_str(&text);
                all.push_str("\n----\n");
            }
        }
        insta::assert_snapshot!(all);
    }

    #[test]
    fn a_server_without_keys_needs_none() {
        let server = SnippetServer {
            needs_key: false,
            ..SERVER
        };
        let snippets = Snippets::new(&request(RunDialect::Chat), "gpt", server);
        for text in [snippets.curl, snippets.python, snippets.typescript] {
            assert!(!text.contains("PROWESS_API_KEY"), "{text}");
        }
    }
}
