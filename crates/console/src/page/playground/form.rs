//! What the visitor filled in.

use bytes::Bytes;
use prowess_server::{PageField, PageForm};

use super::request::{RunDialect, RunRequestForm, SkillChoice, Temperature};
use crate::api::PageError;
use crate::query::Fields;

/// Skills and files of a request.
const MAX_SKILLS: usize = 20;
const MAX_FILES: usize = 10;
/// Fields that an address has once.
const SINGLE_FIELDS: [&str; 7] = [
    "model",
    "second_model",
    "dialect",
    "message",
    "max_tokens",
    "max_turns",
    "temperature",
];

/// The form, with the files that are to be uploaded.
#[derive(Debug, Default)]
pub(crate) struct PlaygroundForm {
    pub(crate) request: RunRequestForm,
    /// The first model, and one beside it.
    pub(crate) model: String,
    pub(crate) second_model: String,
    pub(crate) files: Vec<FileUpload>,
}

/// A file of the form.
#[derive(Debug)]
pub(crate) struct FileUpload {
    pub(crate) name: String,
    pub(crate) content: Bytes,
}

impl PlaygroundForm {
    /// From an address: a link to the playground that fills it in.
    pub(crate) fn from_query(query: &Fields) -> PlaygroundForm {
        let mut form = PlaygroundForm::default();
        for name in SINGLE_FIELDS {
            form.set(name, query.get(name).unwrap_or_default());
        }
        for name in ["skill", "skills", "file"] {
            query.all(name).for_each(|value| form.set(name, value));
        }
        if let Some(version) = query.get("versions") {
            for skill in &mut form.request.skills {
                skill.version = Some(version.to_owned());
            }
        }
        form
    }

    /// From the form that starts a run.
    pub(crate) async fn read(sent: &mut PageForm) -> Result<PlaygroundForm, PageError> {
        let mut form = PlaygroundForm::default();
        while let Some(field) = sent.next_field().await? {
            form.add_field(field)?;
        }
        Ok(form)
    }

    fn add_field(&mut self, field: PageField) -> Result<(), PageError> {
        if field.name != "files" {
            self.set(&field.name, &String::from_utf8_lossy(&field.data));
            return Ok(());
        }
        let file = field.file_name.unwrap_or_default();
        // A form without a file has one without a name.
        if file.is_empty() {
            return Ok(());
        }
        if self.files.len() >= MAX_FILES {
            let message = format!("at most {MAX_FILES} files can be sent along");
            return Err(PageError::bad_request(message));
        }
        self.files.push(FileUpload {
            name: file,
            content: field.data,
        });
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) {
        let text = value.trim();
        let request = &mut self.request;
        match name {
            "model" => self.model = text.to_owned(),
            "second_model" => self.second_model = text.to_owned(),
            "dialect" => request.dialect = RunDialect::parse(text),
            "message" => request.message = value.replace("\r\n", "\n").trim().to_owned(),
            "max_tokens" => request.max_tokens = text.parse().ok().filter(|tokens| *tokens > 0),
            "max_turns" => request.max_turns = text.parse().ok().filter(|turns| *turns > 0),
            "temperature" => request.temperature = Temperature::parse(text),
            "skill" => self.add_skill(text),
            "skills" => {
                let names = text.split(|one: char| one.is_whitespace() || one == ',');
                names.for_each(|name| self.add_skill(name));
            }
            "file" if !text.is_empty() && request.files.len() < MAX_FILES => {
                request.files.push(text.to_owned());
            }
            _ => {}
        }
    }

    fn add_skill(&mut self, text: &str) {
        let skills = &mut self.request.skills;
        let Some(choice) = SkillChoice::parse(text) else {
            return;
        };
        let is_new = skills.iter().all(|skill| skill.id != choice.id);
        if is_new && skills.len() < MAX_SKILLS {
            skills.push(choice);
        }
    }

    /// What is missing for a run.
    pub(crate) fn check(&self) -> Result<(), PageError> {
        let missing = match () {
            () if self.model.is_empty() => "choose a model",
            () if self.request.message.is_empty() => "write a message",
            () if self.request.dialect == RunDialect::Chat && self.has_files() => {
                "Chat Completions has no field for input files: choose another API"
            }
            () => return Ok(()),
        };
        Err(PageError::bad_request(missing))
    }

    fn has_files(&self) -> bool {
        !self.files.is_empty() || !self.request.files.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_fills_the_form_in() {
        let query = b"model=m&dialect=responses&skill=skill_1@3&skills=skill_2%2C+skill_1\
            &message=Hi%0D%0Athere&max_tokens=no&versions=latest&file=file_1&max_turns=3\
            &temperature=0.50";
        let form = PlaygroundForm::from_query(&Fields::parse(query));
        let request = &form.request;
        assert_eq!(
            (form.model.as_str(), request.message.as_str()),
            ("m", "Hi\nthere")
        );
        assert_eq!(
            (request.dialect, request.max_tokens),
            (RunDialect::Responses, None)
        );
        let skills: Vec<String> = request.skills.iter().map(SkillChoice::to_string).collect();
        assert_eq!(skills, ["skill_1@latest", "skill_2@latest"]);
        assert_eq!(request.files, ["file_1"]);
        let temperature = request.temperature.as_ref().unwrap();
        assert_eq!((request.max_turns, &*temperature.text), (Some(3), "0.50"));
        for wrong in ["-1", "2.1", "NaN", "inf", "hot"] {
            assert_eq!(Temperature::parse(wrong), None, "{wrong}");
        }
        assert!(form.check().is_ok());
    }

    #[test]
    fn what_is_missing_is_named() {
        let check = |query: &[u8]| {
            let form = PlaygroundForm::from_query(&Fields::parse(query));
            form.check().map_err(|error| error.message)
        };
        assert!(check(b"message=x").unwrap_err().contains("model"));
        assert!(check(b"model=x").unwrap_err().contains("message"));
        let chat = check(b"model=x&message=y&dialect=chat&file=f");
        assert!(chat.unwrap_err().contains("Chat Completions"));
    }
}
