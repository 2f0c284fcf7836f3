//! Announcing, refusing when full, draining, starting again.

use crate::gateway::{TestGateway, ended, failed};
use crate::support::{TestWorker, WORKER, open_sandbox, settings};
use prowess_bus::Bus;
use prowess_worker::protocol::{
    PROTOCOL_VERSION, RemoteError, WorkerBeat, WorkerReply, WorkerRequest, beats_subject, decode,
};
use prowess_worker::{WorkerError, WorkerService};
use std::time::Duration;

async fn next_beat(beats: &mut prowess_bus::Subscription) -> WorkerBeat {
    decode(&beats.next().await.unwrap().payload).unwrap()
}

#[tokio::test]
async fn a_worker_announces_itself_and_its_load() {
    let bus = Bus::local();
    let mut beats = bus.subscribe(&beats_subject("prowess")).await.unwrap();
    let _worker = TestWorker::start(&bus).await;
    let idle = next_beat(&mut beats).await;
    assert_eq!(
        (idle.id.as_str(), idle.protocol),
        (WORKER, PROTOCOL_VERSION)
    );
    assert_eq!((idle.running, idle.waiting, idle.slots), (0, 0, 4));
    assert_eq!(idle.version, env!("CARGO_PKG_VERSION"));
    assert!(idle.free_disk_bytes > 0 && !idle.draining && !idle.boot.is_empty());
    let mut gateway = TestGateway::new(&bus);
    let request = gateway.request("sleep 1000");
    let command = request.command.clone();
    let mut conversation = gateway.begin(WorkerRequest::Exec(Box::new(request))).await;
    let mut beat = next_beat(&mut beats).await;
    while beat.running == 0 {
        beat = next_beat(&mut beats).await;
    }
    assert_eq!((beat.running, beat.waiting), (1, 0));
    gateway
        .send(WorkerRequest::Kill {
            command,
            listener: None,
            epoch: 0,
        })
        .await;
    gateway.finish(&mut conversation).await;
    while beat.running > 0 {
        beat = next_beat(&mut beats).await;
    }
}

#[tokio::test]
async fn a_worker_that_is_full_refuses_at_once() {
    let bus = Bus::local();
    let _worker = TestWorker::with(&bus, |settings| {
        settings.slots = 1;
        settings.waiting = 1;
    })
    .await;
    let mut gateways: Vec<_> = (0..3).map(|_| TestGateway::new(&bus)).collect();
    let mut conversations = Vec::new();
    for (number, gateway) in gateways.iter_mut().enumerate().take(2) {
        let mut request = gateway.request("sleep 1000");
        request.command = format!("long:{number}");
        let mut conversation = gateway.begin(WorkerRequest::Exec(Box::new(request))).await;
        gateway.accepted(&mut conversation).await;
        assert_eq!(conversation.attached, Some(false));
        conversations.push(conversation);
    }
    let request = gateways[2].request("echo ran");
    let (last, conversation) = gateways[2].exec(request).await;
    let WorkerReply::Busy {
        running,
        waiting,
        retry_after_ms,
        of_tenant,
    } = last
    else {
        panic!("{last:?}")
    };
    assert_eq!((running, waiting, of_tenant), (1, 1, false));
    assert!(retry_after_ms > 0);
    assert_eq!(conversation.attached, None);
    for number in 0..2 {
        let command = format!("long:{number}");
        gateways[2]
            .send(WorkerRequest::Kill {
                command,
                listener: None,
                epoch: 0,
            })
            .await;
        let last = gateways[number].finish(&mut conversations[number]).await;
        assert_eq!(failed(last), RemoteError::KILLED);
    }
    gateways[2].run("echo now").await;
}

#[tokio::test]
async fn a_tenant_without_a_place_left_is_refused_if_its_command_can_go_elsewhere() {
    let bus = Bus::local();
    let _worker = TestWorker::with_share_of_half(&bus).await;
    let mut gateways: Vec<_> = (0..3).map(|_| TestGateway::new(&bus)).collect();
    let mut request = gateways[0].request("sleep 1000");
    request.passes_on = true;
    let long = request.command.clone();
    let mut running = gateways[0]
        .begin(WorkerRequest::Exec(Box::new(request)))
        .await;
    gateways[0].accepted(&mut running).await;
    assert_eq!(running.attached, Some(false));
    // Another container of the same tenant.
    let mut request = gateways[1].request("echo second");
    request.passes_on = true;
    let (last, conversation) = gateways[1].exec(request.clone()).await;
    assert!(
        matches!(
            &last,
            WorkerReply::Busy {
                of_tenant: true,
                ..
            }
        ),
        "{last:?}"
    );
    assert_eq!(conversation.attached, None);
    // One of another tenant.
    let mut other = gateways[2].request("echo other");
    other.passes_on = true;
    other.owner = "another".into();
    let (last, _) = gateways[2].exec(other).await;
    assert_eq!(ended(last).report.stdout.text, "other\n");
    // If it cannot go elsewhere, it waits.
    request.passes_on = false;
    let mut waiting = gateways[1]
        .begin(WorkerRequest::Exec(Box::new(request)))
        .await;
    gateways[1].accepted(&mut waiting).await;
    assert_eq!(waiting.attached, Some(false));
    gateways[0]
        .send(WorkerRequest::Kill {
            command: long,
            listener: None,
            epoch: 0,
        })
        .await;
    let last = gateways[0].finish(&mut running).await;
    assert_eq!(failed(last), RemoteError::KILLED);
    let last = gateways[1].finish(&mut waiting).await;
    assert_eq!(ended(last).report.stdout.text, "second\n");
}

#[tokio::test]
async fn draining_finishes_commands_and_refuses_others() {
    let bus = Bus::local();
    let mut beats = bus.subscribe(&beats_subject("prowess")).await.unwrap();
    let worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let request = gateway.request("echo started; sleep 1; echo finished > file");
    let mut conversation = gateway.begin(WorkerRequest::Exec(Box::new(request))).await;
    while conversation.output.is_empty() {
        gateway.step(&mut conversation).await;
    }
    let drained = worker.service.drain();
    let used = async {
        while !next_beat(&mut beats).await.draining {}
        let mut other = TestGateway::new(&bus);
        let mut request = other.request("echo ran");
        request.command = "late".into();
        let (last, _) = other.exec(request).await;
        assert!(matches!(last, WorkerReply::Draining), "{last:?}");
        gateway.finish(&mut conversation).await
    };
    let ((), last) = tokio::join!(drained, used);
    let result = ended(last);
    gateway.commit(&result.changes.unwrap());
    assert_eq!(gateway.content("file"), b"finished\n");
}

#[tokio::test]
async fn a_command_that_does_not_end_in_time_is_ended_by_draining() {
    let bus = Bus::local();
    let worker = TestWorker::with(&bus, |settings| {
        settings.drain_timeout = Duration::from_millis(100);
    })
    .await;
    let mut gateway = TestGateway::new(&bus);
    let request = gateway.request("echo started; sleep 1000");
    let mut conversation = gateway.begin(WorkerRequest::Exec(Box::new(request))).await;
    while conversation.output.is_empty() {
        gateway.step(&mut conversation).await;
    }
    let (last, ()) = tokio::join!(gateway.finish(&mut conversation), worker.service.drain());
    let WorkerReply::Failed(error) = last else {
        panic!("{last:?}")
    };
    assert_eq!(error.code, RemoteError::STOPPED);
    assert!(error.began && error.is_of_worker());
}

#[tokio::test]
async fn a_worker_that_starts_again_has_no_copies_and_another_boot() {
    let bus = Bus::local();
    let TestWorker {
        service,
        sandbox,
        folder,
    } = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let request = gateway.request("echo x > x");
    let first = ended(gateway.exec(request.clone()).await.0);
    gateway.commit(&first.changes.unwrap());
    let boot = service.beat().boot;
    let settings = settings(&folder);
    let second = WorkerService::start(bus.clone(), sandbox.clone(), settings.clone()).await;
    assert!(
        matches!(second, Err(WorkerError::InUse { .. })),
        "{second:?}"
    );
    drop((service, sandbox));
    let sandbox = open_sandbox(&folder, &settings).await;
    assert_eq!(sandbox.containers().len(), 1);
    let service = WorkerService::start(bus.clone(), sandbox.clone(), settings).await;
    let service = service.unwrap();
    assert!(sandbox.containers().is_empty());
    assert_ne!(service.beat().boot, boot);
    let mut attach = request;
    attach.attach_only = true;
    let (last, _) = gateway.exec(attach).await;
    assert_eq!(failed(last), RemoteError::UNKNOWN_COMMAND);
    assert_eq!(gateway.run("cat x").await.report.stdout.text, "x\n");
}

#[tokio::test]
async fn an_id_that_is_no_part_of_a_subject_is_refused() {
    let bus = Bus::local();
    let folder = tempfile::TempDir::new().unwrap();
    let mut settings = settings(&folder);
    let sandbox = open_sandbox(&folder, &settings).await;
    settings.id = "w.>".into();
    let started = WorkerService::start(bus, sandbox, settings).await;
    assert!(matches!(started, Err(WorkerError::Bus(_))), "{started:?}");
}
