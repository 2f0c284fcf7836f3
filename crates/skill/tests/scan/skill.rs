//! A skill to scan, built in a line or two, and a report in lines.

use prowess_skill::scan::{ScanLimits, ScanReport, Subject, SubjectFile, scan};

#[derive(Default, Clone)]
pub(crate) struct ScanFixture {
    files: Vec<(String, Vec<u8>)>,
    name: Option<&'static str>,
    description: Option<&'static str>,
    tools: Option<Vec<&'static str>>,
    keys: Vec<&'static str>,
}

/// A skill with one file.
pub(crate) fn file(path: &str, data: impl AsRef<[u8]>) -> ScanFixture {
    ScanFixture::default().and(path, data)
}

impl ScanFixture {
    pub(crate) fn and(mut self, path: &str, data: impl AsRef<[u8]>) -> ScanFixture {
        self.files.push((path.to_owned(), data.as_ref().to_vec()));
        self
    }

    pub(crate) fn name(mut self, name: &'static str) -> ScanFixture {
        self.name = Some(name);
        self
    }

    pub(crate) fn description(mut self, description: &'static str) -> ScanFixture {
        self.description = Some(description);
        self
    }

    pub(crate) fn tools(mut self, tools: &[&'static str]) -> ScanFixture {
        self.tools = Some(tools.to_vec());
        self
    }

    pub(crate) fn key(mut self, key: &'static str) -> ScanFixture {
        self.keys.push(key);
        self
    }

    pub(crate) fn scan(&self) -> ScanReport {
        self.scan_within(&ScanLimits::default())
    }

    pub(crate) fn scan_within(&self, limits: &ScanLimits) -> ScanReport {
        let files = self.files.iter();
        let subject = Subject {
            files: files
                .map(|(path, data)| SubjectFile {
                    path,
                    data,
                    executable: false,
                })
                .collect(),
            skill_file: "SKILL.md",
            name: self.name,
            description: self.description,
            allowed_tools: self.tools.clone(),
            frontmatter_keys: self.keys.clone(),
        };
        scan(&subject, limits)
    }
}

/// The findings, one per line, without what every finding has.
pub(crate) fn check(skill: &ScanFixture) -> String {
    let report = skill.scan();
    let lines = report.findings.iter().map(|f| {
        let place = f
            .place
            .map_or(String::new(), |p| format!(":{}:{}", p.line, p.column));
        let weight = format!("{}/{}", f.severity.as_str(), f.confidence.as_str());
        format!(
            "{} {weight} {}{place} {} | {}\n",
            f.rule, f.file, f.message, f.evidence
        )
    });
    format!("{}\n{}", report.status.as_str(), lines.collect::<String>())
}
