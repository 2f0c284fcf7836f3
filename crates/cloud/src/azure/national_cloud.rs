//! Azure's clouds: the public one, and those of nations, which trust no tokens of one another.

/// One of Azure's clouds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AzureCloud {
    /// The public one.
    #[default]
    Public,
    /// Azure Government of the United States.
    UsGovernment,
    /// Azure in China.
    China,
}

impl AzureCloud {
    /// The cloud of a host of Azure; the public one for any other host.
    pub fn of_host(host: &str) -> Self {
        if host.ends_with(".azure.us") {
            AzureCloud::UsGovernment
        } else if host.ends_with(".azure.cn") {
            AzureCloud::China
        } else {
            AzureCloud::Public
        }
    }

    /// Who issues tokens, unless `AZURE_AUTHORITY_HOST` names another.
    pub(super) fn authority(self) -> &'static str {
        match self {
            AzureCloud::Public => "https://login.microsoftonline.com",
            AzureCloud::UsGovernment => "https://login.microsoftonline.us",
            AzureCloud::China => "https://login.partner.microsoftonline.cn",
        }
    }

    /// What the tokens are for: the models of this cloud.
    pub(super) fn resource(self) -> &'static str {
        match self {
            AzureCloud::Public => "https://cognitiveservices.azure.com",
            AzureCloud::UsGovernment => "https://cognitiveservices.azure.us",
            AzureCloud::China => "https://cognitiveservices.azure.cn",
        }
    }
}
