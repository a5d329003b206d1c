//! The daemon knows whether its work advances.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use hierad::daemon::queue::{Queue, RenderedReport};
use hierad::daemon::service::{Service, Services};
use hierad::delivery::{Filter, Sink, Target};
use hierad::event::{CommitEvent, EventKind};
use hierad::git::{BranchName, CommitId};
use tokio::sync::mpsc as channel;
use tokio::time::advance;

use crate::support::next_job;

/// An output that tells of a write, and takes it when it may.
struct Slow(channel::UnboundedSender<()>, mpsc::Receiver<()>);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(()).unwrap();
        self.1.recv().unwrap();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A queue with a report for the sink.
async fn queue(folder: &std::path::Path) -> Queue {
    let (queue, _lock) = Queue::create(folder).await.unwrap();
    let after = CommitId::from_hex(&"1".repeat(40)).unwrap();
    let event = CommitEvent::new(BranchName::new("main"), None, after, EventKind::New);
    queue.add(&"data".into(), &[event]).await.unwrap();
    let (job, _) = next_job(&queue, "data").await.unwrap();
    let report = RenderedReport { json: b"{}\n".to_vec(), text: None };
    queue.resolved(job.name.number, &report.packed(), &["slow"], None).await.unwrap();
    queue
}

#[tokio::test(start_paused = true)]
async fn a_delivery_without_an_end_is_a_standstill() {
    let folder = tempfile::tempdir().unwrap();
    let ((tell, mut begun), (go, wait)) = (channel::unbounded_channel(), mpsc::channel());
    let target = Target::Stream(Arc::new(Mutex::new(Box::new(Slow(tell, wait)))));
    let sink = Sink { name: "slow".to_owned(), filter: Filter::default(), retry_for: Duration::MAX, target };
    let (repositories, scheduled) = (Vec::new(), Vec::new());
    let queue = queue(folder.path()).await;
    let (keep, reviews) = (Duration::MAX, Vec::new());
    let service = Service { queue, repositories, sinks: vec![sink], scheduled, reviews, keep, http: None };
    let mut services = Services::default();
    services.begin(service).await.unwrap();
    begun.recv().await.unwrap();
    let progress = services.advance();
    assert_eq!(progress.standstill(), None);
    advance(Duration::from_hours(3)).await;
    let reason = progress.standstill().expect("the delivery stands still");
    assert_eq!(reason, "the delivery of a report to the sink 'slow' takes 180 min");
    go.send(()).unwrap();
    services.end().await.unwrap();
    assert_eq!(progress.standstill(), None);
}
