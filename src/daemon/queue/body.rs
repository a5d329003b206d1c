//! The stored form of reports: compressed, since they are many and much alike.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use tokio::task::spawn_blocking;

use super::QueueError;

/// The size in bytes from which the work is done on a separate thread.
const THREAD_SIZE: usize = 1 << 16;

/// A report in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Body {
    bytes: Vec<u8>,
    size: usize,
}

impl Body {
    /// Makes the body of what `write` writes, which is never in memory as a whole.
    pub fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Body> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        write(&mut encoder)?;
        let size = usize::try_from(encoder.total_in()).unwrap_or(usize::MAX);
        Ok(Body { bytes: encoder.finish()?, size })
    }

    /// Makes the body of `content`.
    pub fn of(content: &[u8]) -> Body {
        // Writing to memory does not fail.
        Body::written(|out| out.write_all(content)).unwrap_or_default()
    }

    /// Accepts a body from elsewhere, or returns `None` if it is incomplete: a report ends with a line feed.
    pub fn received(bytes: Vec<u8>) -> Option<Body> {
        let (mut size, mut last, mut chunk) = (0, None, [0; 1 << 14]);
        let mut content = reader(&bytes);
        loop {
            match content.read(&mut chunk).ok()? {
                0 => break,
                read => (size, last) = (size + read, Some(chunk[read - 1])),
            }
        }
        drop(content);
        (last == Some(b'\n')).then_some(Body { bytes, size })
    }

    /// Returns the size of the report, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the stored bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the stored bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the report as text.
    pub fn into_text(self) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&read(&self.bytes)?).into_owned())
    }
}

/// Returns the report, uncompressed.
pub(super) async fn unpack(content: Vec<u8>) -> Result<Vec<u8>, QueueError> {
    let done = if content.len() < THREAD_SIZE {
        read(&content)
    } else {
        spawn_blocking(move || read(&content)).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    };
    done.map_err(|error| QueueError::Damaged(format!("a report cannot be read: {error}")))
}

fn read(stored: &[u8]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    reader(stored).read_to_end(&mut content)?;
    Ok(content)
}

/// Returns a reader of the uncompressed report.
fn reader(stored: &[u8]) -> impl Read + '_ {
    ZlibDecoder::new(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reports_come_back_as_they_were() {
        for size in [0, 1, 100, THREAD_SIZE / 4, THREAD_SIZE] {
            let report = "{\"a\":".repeat(size).into_bytes();
            let body = Body::of(&report);
            assert_eq!(body.size(), report.len());
            assert!(size < 100 || body.bytes().len() < report.len() / 10, "{} of {}", body.bytes().len(), report.len());
            assert_eq!(unpack(body.into_bytes()).await.unwrap(), report);
        }
        assert!(unpack(b"\x78\x01broken".to_vec()).await.is_err());
    }

    #[test]
    fn only_whole_reports_are_received() {
        let body = Body::of("{\"a\": 1}\n".repeat(1000).as_bytes());
        assert_eq!(Body::received(body.bytes().to_vec()), Some(body.clone()));
        assert_eq!(Body::received(body.bytes()[..body.bytes().len() - 1].to_vec()), None, "cut");
        assert_eq!(Body::received(b"{}\n".to_vec()), None, "not compressed");
        assert_eq!(Body::received(Vec::new()), None);
    }
}
