//! The requests that the lines of a file become.

use std::io;

use serde_json::{Map, Value, json};

use super::input::{BatchInput, parse};
use super::line::BatchLine;

/// The tool that lets a model run code.
const CODE_EXECUTION_TOOL: &str = "code_execution_20250825";

/// The Messages API requires a limit.
const DEFAULT_MAX_TOKENS: u64 = 8192;

/// What all requests of a batch have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestTemplate {
    pub(super) model: Option<String>,
    pub(super) system: Option<String>,
    pub(super) max_tokens: Option<u64>,
    /// Stored skills, as in Anthropic's API.
    pub(super) skills: Vec<Value>,
    /// Whether the model may run code.
    pub(super) code: bool,
}

/// The requests of a file, as the API of its format has them.
pub(super) fn requests(
    input: &BatchInput,
    template: &RequestTemplate,
) -> io::Result<impl Iterator<Item = io::Result<String>> + Send + use<>> {
    let (format, template) = (input.format.clone(), template.clone());
    let lines = input.lines()?;
    Ok(lines.map(move |line| {
        let line = line?;
        Ok(template.render(line.number, parse(&format, &line)?))
    }))
}

/// The name of the request of a prompt.
pub(super) fn prompt_name(line: u64) -> String {
    format!("line-{line}")
}

impl RequestTemplate {
    fn render(&self, number: u64, line: BatchLine) -> String {
        match line {
            BatchLine::Prompt { prompt, .. } => {
                let params = self.prompt_params(&prompt);
                json!({"custom_id": prompt_name(number), "params": params}).to_string()
            }
            BatchLine::Request { mut line, field } => {
                if let (Some(Value::Object(request)), Some(model)) =
                    (line.get_mut(field), &self.model)
                {
                    let own = request.entry("model").or_insert(Value::Null);
                    if own.is_null() {
                        *own = model.as_str().into();
                    }
                }
                Value::Object(line).to_string()
            }
        }
    }

    fn prompt_params(&self, prompt: &str) -> Map<String, Value> {
        let message = json!({"role": "user", "content": prompt});
        let mut params = Map::new();
        params.insert("model".to_owned(), self.model.as_deref().into());
        params.insert("messages".to_owned(), vec![message].into());
        if let Some(system) = &self.system {
            params.insert("system".to_owned(), system.as_str().into());
        }
        let tokens = self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
        params.insert("max_tokens".to_owned(), tokens.into());
        if !self.skills.is_empty() {
            let container = json!({"skills": self.skills});
            params.insert("container".to_owned(), container);
            if self.code {
                let tool = json!({"type": CODE_EXECUTION_TOOL, "name": "code_execution"});
                params.insert("tools".to_owned(), vec![tool].into());
            }
        }
        params
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> RequestTemplate {
        RequestTemplate {
            model: Some("m".to_owned()),
            ..RequestTemplate::default()
        }
    }

    #[test]
    fn a_prompt_becomes_a_message_with_what_all_have() {
        let prompt = || BatchLine::Prompt {
            prompt: "Hi".to_owned(),
            id: None,
        };
        insta::assert_snapshot!(template().render(7, prompt()), @r#"{"custom_id":"line-7","params":{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":8192}}"#);
        let full = RequestTemplate {
            system: Some("Be brief".to_owned()),
            max_tokens: Some(9),
            skills: vec![json!({"type": "custom", "skill_id": "skill_1"})],
            code: true,
            ..template()
        };
        insta::assert_snapshot!(full.render(7, prompt()), @r#"{"custom_id":"line-7","params":{"model":"m","messages":[{"role":"user","content":"Hi"}],"system":"Be brief","max_tokens":9,"container":{"skills":[{"type":"custom","skill_id":"skill_1"}]},"tools":[{"type":"code_execution_20250825","name":"code_execution"}]}}"#);
    }

    #[test]
    fn a_request_of_a_vendor_has_its_own_model_first() {
        let request = |body: Value| {
            let line = json!({"custom_id": "a", "params": body});
            let line = line.as_object().cloned().unwrap_or_default();
            let field = "params";
            template().render(1, BatchLine::Request { line, field })
        };
        insta::assert_snapshot!(request(json!({"model": "x"})), @r#"{"custom_id":"a","params":{"model":"x"}}"#);
        insta::assert_snapshot!(request(json!({"max_tokens": 1})), @r#"{"custom_id":"a","params":{"max_tokens":1,"model":"m"}}"#);
    }
}
