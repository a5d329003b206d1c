//! Limits the memory that it takes to read data files.

use std::sync::{Condvar, Mutex, PoisonError};

use super::Format;

/// The maximum memory per byte of a file, in bytes. A long text takes this much.
const MEMORY_PER_BYTE: usize = 6;

/// The maximum memory per character that may begin a value, in bytes. A file of nothing but tiny values takes this
/// much.
const MEMORY_PER_VALUE: usize = 320;

/// The default limit of the memory for files that are read at the same time, in bytes.
pub(super) const DEFAULT_LIMIT: usize = 1 << 30;

/// Lets files be read at the same time within a memory limit. The others wait.
pub(super) struct Reading {
    limit: usize,
    reserved: Mutex<usize>,
    freed: Condvar,
}

/// A file that is being read, and the memory that it takes.
pub(super) struct Reservation<'r> {
    reading: &'r Reading,
    size: usize,
}

impl Reading {
    pub(super) fn within(limit: usize) -> Reading {
        Reading { limit, reserved: Mutex::default(), freed: Condvar::new() }
    }

    /// Waits until there is memory to read `content`. Returns the reason if there will never be enough.
    pub(super) fn reserve(&self, content: &[u8], format: Format) -> Result<Reservation<'_>, String> {
        let size = max_memory(content, format);
        if size > self.limit {
            let is_set = self.limit < DEFAULT_LIMIT;
            let setting = if is_set { ", a quarter of 'memory' under 'limits' in hierad.yaml" } else { "" };
            let (size, limit) = (size >> 20, self.limit >> 20);
            return Err(format!(
                "the file may take {size} MiB of memory, and files at most {limit} MiB{setting}: divide it"
            ));
        }
        let reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |reserved: &mut usize| *reserved + size > self.limit;
        let mut reserved = self.freed.wait_while(reserved, is_full).unwrap_or_else(PoisonError::into_inner);
        *reserved += size;
        Ok(Reservation { reading: self, size })
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        *self.reading.reserved.lock().unwrap_or_else(PoisonError::into_inner) -= self.size;
        self.reading.freed.notify_all();
    }
}

/// Returns the maximum memory that it takes to read a file, in bytes.
fn max_memory(content: &[u8], format: Format) -> usize {
    let values = content.iter().filter(|byte| may_begin_value(**byte, format)).count();
    content.len().saturating_mul(MEMORY_PER_BYTE).saturating_add(values.saturating_mul(MEMORY_PER_VALUE))
}

/// Returns true if a value, or a part of one, may begin after this character.
fn may_begin_value(byte: u8, format: Format) -> bool {
    match byte {
        b'\n' | b',' | b':' | b'[' | b'{' => true,
        b'-' | b'?' => format.is_yaml(),
        b' ' | b'=' | b'.' | b'$' | b'"' => format == Format::Hocon,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn files_beyond_the_limit_wait_or_are_refused() {
        let content = b"a: 1\n";
        let reading = Reading::within(max_memory(content, Format::Yaml) * 2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _begun = reading.reserve(content, Format::Yaml).unwrap();
                        most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert!((1..=2).contains(&most.into_inner()));
        assert!(reading.reserve(&content.repeat(3), Format::Yaml).is_err());
    }
}
