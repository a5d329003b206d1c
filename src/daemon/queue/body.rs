//! The stored form of reports: compressed, since they are many and say the same things.

use std::io::{self, Read};

use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use tokio::task::spawn_blocking;

use super::QueueError;

/// The first byte of what is compressed. Reports of former versions are not, and begin with a brace.
const MARK: u8 = 0x78;

/// The size in bytes from which the work is done on a thread of its own.
const LARGE: usize = 1 << 16;

/// Compresses a report.
pub(super) async fn pack(content: Vec<u8>) -> Result<Vec<u8>, QueueError> {
    let pack = |content: Vec<u8>| read(ZlibEncoder::new(&*content, Compression::fast()));
    run(content, pack).await
}

/// Returns the report in its own form.
pub(super) async fn unpack(content: Vec<u8>) -> Result<Vec<u8>, QueueError> {
    if content.first() != Some(&MARK) {
        return Ok(content);
    }
    run(content, |content| read(ZlibDecoder::new(&*content))).await
}

async fn run(content: Vec<u8>, work: fn(Vec<u8>) -> io::Result<Vec<u8>>) -> Result<Vec<u8>, QueueError> {
    let done = if content.len() < LARGE {
        work(content)
    } else {
        spawn_blocking(move || work(content)).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    };
    done.map_err(|error| QueueError::Damaged(format!("a report cannot be read: {error}")))
}

fn read(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    from.read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reports_come_back_as_they_were() {
        for size in [0, 1, 100, LARGE / 4, LARGE] {
            let report = "{\"a\":".repeat(size).into_bytes();
            let packed = pack(report.clone()).await.unwrap();
            assert_eq!(packed.first(), Some(&MARK));
            assert!(size < 100 || packed.len() < report.len() / 10, "{} of {}", packed.len(), report.len());
            assert_eq!(unpack(packed).await.unwrap(), report);
        }
        assert_eq!(unpack(b"{}\n".to_vec()).await.unwrap(), b"{}\n", "of a former version");
        assert!(unpack(b"\x78\x01broken".to_vec()).await.is_err());
    }
}
