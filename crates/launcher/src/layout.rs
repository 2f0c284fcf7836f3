//! Paths inside a sandbox. Every crate that names one takes it from [`LAYOUT`].

/// Where a container's folders are, seen from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerLayout {
    /// Writable files, retained between commands; also the working directory, the place of
    /// uploads and the folder that outputs are collected from.
    pub data: &'static str,
    /// One read-only folder per skill.
    pub skills: &'static str,
    /// Installed Python packages, read-only.
    pub packages: &'static str,
    /// Small read-only files of one command, such as CA certificates.
    pub files: &'static str,
    /// The home folder.
    pub home: &'static str,
    /// Temporary files, removed when the command ends.
    pub tmp: &'static str,
}

/// The layout of every container.
pub const LAYOUT: ContainerLayout = ContainerLayout {
    data: "/mnt/data",
    skills: "/skills",
    packages: "/packages/python",
    files: "/etc/prowess",
    home: "/tmp",
    tmp: "/tmp",
};

impl ContainerLayout {
    /// The absolute path of a file in the data folder.
    #[must_use]
    pub fn data_path(&self, path: &str) -> String {
        format!("{}/{path}", self.data)
    }

    /// The absolute path of a skill's folder, or of a file in it.
    #[must_use]
    pub fn skill_path(&self, path: &str) -> String {
        format!("{}/{path}", self.skills)
    }

    /// The part of an absolute path below the data folder.
    #[must_use]
    pub fn below_data<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(self.data)?.strip_prefix('/')
    }

    /// The part of an absolute path below the folder of skills.
    #[must_use]
    pub fn below_skills<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(self.skills)?.strip_prefix('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_and_split_at_the_folder() {
        let path = LAYOUT.data_path("a/b.txt");
        assert_eq!(path, "/mnt/data/a/b.txt");
        assert_eq!(LAYOUT.below_data(&path), Some("a/b.txt"));
        assert_eq!(LAYOUT.below_data("/mnt/database"), None);
        assert_eq!(LAYOUT.skill_path("pdf"), "/skills/pdf");
        assert_eq!(LAYOUT.below_skills("/skills/pdf/x"), Some("pdf/x"));
        assert_eq!(LAYOUT.below_skills("/skills"), None);
    }
}
