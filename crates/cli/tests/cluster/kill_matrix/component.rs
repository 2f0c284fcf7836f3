//! What is killed, and how it comes back.

use prowess_testkit::fleet::FleetMember;

use super::restart_all;
use crate::bed::ClusterBed;

/// A part of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Component {
    Worker,
    Messages,
    Blobs,
    Balancer,
    Database,
    Gateway,
}

impl Component {
    pub(super) const ALL: [Component; 6] = [
        Component::Worker,
        Component::Messages,
        Component::Blobs,
        Component::Balancer,
        Component::Database,
        Component::Gateway,
    ];

    /// How long a gateway may be silent: while other components are killed, no other gateway takes
    /// its runs.
    pub(super) fn lease(self) -> &'static str {
        match self {
            Component::Database | Component::Gateway => "4000",
            Component::Worker | Component::Messages | Component::Blobs | Component::Balancer => {
                "60000"
            }
        }
    }

    /// How often a turn may have been asked for again.
    pub(super) fn repeated_turns(self) -> usize {
        match self {
            Component::Database | Component::Gateway => 1,
            Component::Worker | Component::Messages | Component::Blobs | Component::Balancer => 0,
        }
    }

    /// Kills it, and starts it again.
    pub(super) fn kill(self, bed: &mut ClusterBed, victims: &mut [FleetMember]) {
        match self {
            Component::Worker => {
                for worker in &bed.fleet.workers {
                    worker.kill();
                }
                for worker in &mut bed.fleet.workers {
                    worker.restart(&[]);
                }
                for worker in &bed.fleet.workers {
                    worker.wait_until_ready();
                }
            }
            Component::Messages => bed.fleet.nats.restart(),
            Component::Blobs => bed.fleet.blobs.restart(),
            Component::Balancer => bed.fleet.haproxy.restart(),
            Component::Database => {
                bed.fleet.postgres.kill();
                bed.fleet.postgres.recover();
            }
            Component::Gateway => restart_all(victims, self.lease()),
        }
    }
}
