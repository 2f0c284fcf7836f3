//! Packages of containers: a worker installs them, and others when they first need them.

use prowess_sandbox::{Error, Layer, Requirements};
use prowess_worker::protocol::requirements_key;

use crate::cluster::ClusterSandboxes;

impl ClusterSandboxes {
    /// Has a worker install requirements, unless one has done so lately.
    pub(crate) async fn install(
        &self,
        owner: &str,
        requirements: &Requirements,
    ) -> Result<Layer, Error> {
        // A remark is the text of one worker, and not for other tenants.
        let key = format!("{owner} {}", requirements_key(requirements));
        let remark = match self.layers.get(&key) {
            Some(remark) => remark,
            None => {
                let command = self.new_holder();
                let installed = self.dispatcher.install(owner, command, requirements);
                let remark = installed.await?;
                self.layers.add(key, remark.clone());
                remark
            }
        };
        Ok(Layer::remote(requirements.clone(), remark))
    }
}
