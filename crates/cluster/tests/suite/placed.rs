//! Which worker gets a command, and who waits.

use crate::fake_worker::{FakeWorker, ended};
use crate::support::{OWNER, TestCluster, bash, create, run, until, workers_known};
use prowess_sandbox::{ContainerSpec, Execution, Policy, Sandboxes};
use prowess_worker::protocol::{WorkerReply, WorkerRequest};
use tokio::task::JoinSet;

fn busy() -> WorkerReply {
    WorkerReply::Busy {
        running: 1,
        waiting: 0,
        retry_after_ms: 0,
        of_tenant: false,
    }
}

/// There is room, but none for this tenant without waiting.
fn tenant_busy() -> WorkerReply {
    WorkerReply::Busy {
        running: 1,
        waiting: 0,
        retry_after_ms: 0,
        of_tenant: true,
    }
}

/// The next command that one of two workers gets: which one, whether it may pass it on, and where
/// its answers go.
async fn next_exec_of(workers: &mut [FakeWorker; 2]) -> (usize, bool, String) {
    let [first, second] = workers;
    tokio::select! {
        (request, reply) = first.next_exec() => (0, request.passes_on, reply),
        (request, reply) = second.next_exec() => (1, request.passes_on, reply),
    }
}

#[tokio::test]
async fn a_worker_without_room_passes_commands_on() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut refuses = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    let others = async {
        let (_, reply) = refuses.next_exec().await;
        refuses.reply(&reply, &busy()).await;
        let (_, reply) = refuses.next_exec_when_free().await;
        refuses.reply(&reply, &WorkerReply::Draining).await;
        cluster.worker("w2").await
    };
    let (ran, _worker) = tokio::join!(run(&gateway, &id, "echo elsewhere"), others);
    assert_eq!(ran, "elsewhere\n");
}

#[tokio::test]
async fn a_command_goes_on_where_its_tenant_has_no_place_and_waits_if_no_worker_has_one() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut workers = [
        FakeWorker::start(&cluster.bus, "w1").await,
        FakeWorker::start(&cluster.bus, "w2").await,
    ];
    workers_known(&gateway, 2).await;
    let id = create(&gateway).await;
    let answers = async {
        let (first, passes_on, reply) = next_exec_of(&mut workers).await;
        assert!(passes_on);
        workers[first].reply(&reply, &tenant_busy()).await;
        let (second, passes_on, reply) = next_exec_of(&mut workers).await;
        assert!(passes_on && second != first);
        workers[second]
            .reply(&reply, &ended("elsewhere", None))
            .await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, &id, bash("true")), answers);
    assert_eq!(ran.unwrap().stdout.text, "elsewhere");
    // Neither has a place: the command is given to one that has it wait.
    let answers = async {
        for _ in 0..2 {
            let (at, passes_on, reply) = next_exec_of(&mut workers).await;
            assert!(passes_on);
            workers[at].reply(&reply, &tenant_busy()).await;
        }
        let (at, passes_on, reply) = next_exec_of(&mut workers).await;
        assert!(!passes_on);
        workers[at].reply(&reply, &ended("waited", None)).await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, &id, bash("true")), answers);
    assert_eq!(ran.unwrap().stdout.text, "waited");
}

#[tokio::test]
async fn the_only_worker_cannot_pass_commands_on() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    let answers = async {
        let (request, reply) = worker.next_exec().await;
        assert!(!request.passes_on);
        // One that does so nevertheless has no room.
        worker.reply(&reply, &tenant_busy()).await;
        until("it waits", || gateway.statistics().waiting == 1).await;
        worker.beat(0).await;
        let (request, reply) = worker.next_exec().await;
        assert!(!request.passes_on);
        worker.reply(&reply, &ended("ran", None)).await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, &id, bash("true")), answers);
    assert_eq!(ran.unwrap().stdout.text, "ran");
}

#[tokio::test]
async fn a_worker_gets_the_span_of_a_command_and_is_known_by_its_subject() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    let span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let execution = Execution {
        traceparent: Some(span.to_owned()),
        ..bash("true")
    };
    let answer = async {
        let (request, reply) = worker.next_exec().await;
        // It says that another one ran it.
        worker.reply(&reply, &ended("", None)).await;
        request
    };
    let (ran, request) = tokio::join!(gateway.exec(OWNER, &id, execution), answer);
    assert_eq!(request.traceparent.as_deref(), Some(span));
    assert_eq!(ran.unwrap().worker.as_deref(), Some("w1"));
}

#[tokio::test]
async fn a_container_stays_at_its_worker() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let workers = [cluster.worker("w1").await, cluster.worker("w2").await];
    workers_known(&gateway, 2).await;
    let id = create(&gateway).await;
    for number in 0..6 {
        run(&gateway, &id, &format!("echo {number} >> log")).await;
    }
    let copies = workers
        .each_ref()
        .map(|worker| worker.sandbox.containers().len());
    assert_eq!(copies.iter().sum::<usize>(), 1, "{copies:?}");
    // A draining worker gets nothing more.
    let (stays, goes) = match copies {
        [1, 0] => (&workers[1], &workers[0]),
        _ => (&workers[0], &workers[1]),
    };
    goes.service.drain().await;
    assert_eq!(run(&gateway, &id, "tail -n 1 log").await, "5\n");
    assert_eq!(stays.sandbox.containers().len(), 1);
}

#[tokio::test]
async fn tenants_wait_in_turns() {
    let cluster = TestCluster::sqlite();
    for tenant in ["many", "few"] {
        cluster.add_tenant(tenant).await;
    }
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let mut commands = JoinSet::new();
    for (tenant, count) in [("many", 5), ("few", 1)] {
        for _ in 0..count {
            let spec = ContainerSpec::from(Policy::default());
            let id = Sandboxes::create(&*gateway, tenant, spec).await.unwrap();
            let gateway_too = gateway.clone();
            let waiting = gateway.statistics().waiting;
            commands.spawn(async move { gateway_too.exec(tenant, &id, bash("true")).await });
            let (_, reply) = worker.next_exec().await;
            worker.reply(&reply, &busy()).await;
            worker.beat(4).await;
            until("it waits", || gateway.statistics().waiting == waiting + 1).await;
        }
    }
    worker.beat_with(0, 1).await;
    let mut served = Vec::new();
    while served.len() < 6 {
        let (request, reply) = worker.next_exec().await;
        served.push(request.owner);
        worker.reply(&reply, &ended("", None)).await;
    }
    assert_eq!(served[..3], ["many", "few", "many"]);
    while let Some(ran) = commands.join_next().await {
        ran.unwrap().unwrap();
    }
    // Nothing is asked of the worker that it need not know.
    let statistics = gateway.statistics();
    assert_eq!((statistics.running, statistics.waiting), (0, 0));
}

#[tokio::test]
async fn a_destroyed_container_is_forgotten_by_workers() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    gateway.destroy(OWNER, &id).await.unwrap();
    let (request, reply) = worker.next_request().await;
    assert!(reply.is_none());
    assert!(
        matches!(&request, WorkerRequest::Forget { containers } if *containers == [id]),
        "{request:?}"
    );
}
