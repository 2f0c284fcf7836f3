//! Every component is killed at every named place of a run: the run ends as if nothing had
//! happened.
//!
//! Gateways stop at a place, each at another one; then a component is killed and started again, and
//! the gateways go on, unless they were what was killed.
//!
//! | module | owns |
//! |---|---|
//! | `points` | the places |
//! | `component` | what is killed, and how it comes back |
//! | `row` | one run: what it is asked for, and how it must end |

mod component;
mod points;
mod row;

use std::path::PathBuf;

use prowess_testkit::fleet::FleetMember;
use prowess_testkit::haproxy::Haproxy;

use self::component::Component;
use self::row::{Matrix, Row};
use crate::durable::bed::Bed;
use crate::durable::poll::wait_for;
use crate::soak::is_soak;

/// Gateways that stop at the same time.
const VICTIMS: usize = 8;

/// A gateway or worker that stops where a file says.
struct Victim<'a>(&'a mut FleetMember);

impl Victim<'_> {
    /// Chooses where it stops next. The number makes the text another one than before.
    fn choose(&self, point: &str, number: usize) {
        let (name, count) = point.split_once(':').unwrap_or((point, "1"));
        let text = format!("{name}:{count}:stop:{number}");
        std::fs::write(self.file(), text).unwrap();
    }

    fn choose_nothing(&self) {
        std::fs::write(self.file(), "").unwrap();
    }

    fn file(&self) -> PathBuf {
        self.0.folder().join("fail-point")
    }

    /// Starts it again, to stop nowhere until something is chosen.
    fn restart(&mut self, lease: &str) {
        self.choose_nothing();
        let file = format!("@{}", self.file().display());
        let variables = [
            ("PROWESS_FAIL_POINT", file.as_str()),
            ("PROWESS_RUN_LEASE_MS", lease),
        ];
        self.0.restart(&variables);
    }
}

fn restart_all(members: &mut [FleetMember], lease: &str) {
    for member in &mut *members {
        Victim(member).restart(lease);
    }
    for member in members {
        member.wait_until_ready();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_as_if_nothing_had_been_killed() {
    let mut matrix = Matrix::start().await;
    let mut victims: Vec<FleetMember> = (0..VICTIMS)
        .map(|number| matrix.bed.fleet.gateway(&format!("victim-{number}"), &[]))
        .collect();
    for component in Component::ALL {
        restart_all(&mut victims, component.lease());
        let points = points::of_gateways(component, is_soak());
        for points in points.chunks(VICTIMS) {
            let rows = kill_at(&mut matrix, &mut victims, component, points).await;
            for row in rows {
                matrix.check(row).await;
            }
        }
        if points::has_webhooks(component, is_soak()) {
            kill_in_webhooks(&mut matrix, &mut victims, component).await;
        }
    }
    for component in [Component::Worker, Component::Messages, Component::Database] {
        kill_at_workers(&mut matrix, component).await;
    }
    kill_in_the_foreground(&mut matrix, &mut victims).await;
    matrix.check_webhooks().await;
}

/// Runs whose gateways stop at these places, and go on after something was killed.
async fn kill_at(
    matrix: &mut Matrix,
    victims: &mut [FleetMember],
    component: Component,
    points: &[&str],
) -> Vec<Row> {
    let victims = victims.get_mut(..points.len()).unwrap();
    let mut rows = Vec::new();
    // Each before one gateway, so that it is known which one has the run.
    let mut balancers = Vec::new();
    for (victim, point) in victims.iter_mut().zip(points) {
        Victim(victim).choose(point, matrix.next_number());
        let url = match component {
            Component::Balancer => {
                let balancer = Haproxy::start(&[victim.port().unwrap()], "/readyz");
                let url = balancer.url();
                balancers.push(balancer);
                url
            }
            _ => victim.url(),
        };
        rows.push(matrix.begin(component, point, &url));
    }
    for (victim, row) in victims.iter().zip(&rows) {
        wait_for(&row.case, async || victim.is_stopped().then_some(())).await;
    }
    component.kill(&mut matrix.bed, victims);
    for balancer in &mut balancers {
        balancer.restart();
    }
    for victim in victims {
        victim.resume();
    }
    rows
}

/// A component is killed while a gateway sends a webhook. Any gateway may be the one that sends it,
/// so all of them would stop there.
async fn kill_in_webhooks(matrix: &mut Matrix, victims: &mut [FleetMember], component: Component) {
    restart_all(&mut matrix.bed.fleet.gateways, component.lease());
    matrix.bed.wait_for_haproxy().await;
    for point in points::OF_WEBHOOKS {
        // One of another run would stop a gateway before this run has begun.
        matrix.bed.wait_for_sent_webhooks().await;
        let number = matrix.next_number();
        for gateway in all_gateways(matrix, victims) {
            Victim(gateway).choose(point, number);
        }
        let row = matrix.begin(component, point, &victims[0].url());
        wait_for(&row.case, async || {
            let mut gateways = all_gateways(matrix, victims);
            gateways.any(|gateway| gateway.is_stopped()).then_some(())
        })
        .await;
        for gateway in all_gateways(matrix, victims) {
            Victim(gateway).choose_nothing();
        }
        if component != Component::Gateway {
            component.kill(&mut matrix.bed, victims);
        }
        for gateway in all_gateways(matrix, victims).filter(|gateway| gateway.is_stopped()) {
            if component == Component::Gateway {
                Victim(gateway).restart(component.lease());
                gateway.wait_until_ready();
            } else {
                gateway.resume();
            }
        }
        matrix.check(row).await;
    }
}

fn all_gateways<'a>(
    matrix: &'a mut Matrix,
    victims: &'a mut [FleetMember],
) -> impl Iterator<Item = &'a mut FleetMember> {
    matrix.bed.fleet.gateways.iter_mut().chain(victims)
}

/// Workers stop at each of their own places. If they are killed there, their commands are run again
/// elsewhere, or their results are known already. Otherwise they go on after something else was
/// killed, and their commands may have gone elsewhere meanwhile.
async fn kill_at_workers(matrix: &mut Matrix, component: Component) {
    restart_all(&mut matrix.bed.fleet.workers, component.lease());
    let url = matrix.bed.fleet.gateways[0].url();
    let mut rows = Vec::new();
    for point in points::of_workers(component, is_soak()) {
        let number = matrix.next_number();
        for worker in &mut matrix.bed.fleet.workers {
            Victim(worker).choose(point, number);
        }
        rows.push(matrix.begin(component, point, &url));
        let workers = &mut matrix.bed.fleet.workers;
        let stopped = wait_for(point, async || {
            workers.iter().position(FleetMember::is_stopped)
        });
        let stopped = stopped.await;
        for worker in &mut *workers {
            Victim(worker).choose_nothing();
        }
        if component != Component::Worker {
            component.kill(&mut matrix.bed, &mut []);
            for worker in &matrix.bed.fleet.workers {
                worker.resume();
            }
            continue;
        }
        // Others may have stopped too.
        for worker in workers.iter().filter(|worker| worker.is_stopped()) {
            worker.kill();
        }
        for worker in workers
            .iter_mut()
            .filter(|worker| worker.status().is_some())
        {
            Victim(worker).restart(component.lease());
        }
        workers[stopped].wait_until_ready();
    }
    for row in rows {
        matrix.check(row).await;
    }
}

/// Commands of foreground runs whose gateways are killed: their changes are there as a whole, or
/// not at all, and the next command runs elsewhere.
async fn kill_in_the_foreground(matrix: &mut Matrix, victims: &mut [FleetMember]) {
    restart_all(victims, Component::Gateway.lease());
    let url = matrix.bed.fleet.gateways[0].url();
    let mut containers = Vec::new();
    for (victim, (point, _)) in victims.iter_mut().zip(points::OF_FOREGROUND) {
        let bed = &matrix.bed;
        let made = bed.script(&url, None, &["echo before > log.txt"]).await;
        Victim(victim).choose(point, matrix.next_number());
        let command = "echo after >> log.txt; seq 1 60000 > numbers.txt";
        let request = matrix
            .bed
            .script_request(&victim.url(), Some(&made.container), &[command]);
        Bed::send_in_background(request);
        wait_for(point, async || victim.is_stopped().then_some(())).await;
        victim.kill();
        containers.push(made.container);
    }
    for (container, (point, is_changed)) in containers.iter().zip(points::OF_FOREGROUND) {
        let expected = match is_changed {
            true => "before after 60000",
            false => "before none",
        };
        let command =
            "echo $(cat log.txt) $(cat numbers.txt 2>/dev/null | wc -l | sed s/^0$/none/)";
        // The container is free as soon as the hold of the gateway that died has run out.
        wait_for(point, async || {
            let request = matrix.bed.script_request(&url, Some(container), &[command]);
            let response = request.send().await.unwrap();
            response.status().is_success().then_some(())
        })
        .await;
        let output = matrix.bed.model.last_result();
        assert!(output.contains(expected), "{point}: {output}");
    }
}
