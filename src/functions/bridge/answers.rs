//! Keeps the latest answers, up to a limit of memory.

use std::collections::HashMap;
use std::mem;

use crate::hiera::Failed;
use crate::hiera::backend::Answer;
use crate::puppet::json;
use crate::tree::BlobId;

/// The outcome of a request.
pub(super) type Outcome = Result<Answer, String>;

/// The maximum size of all answers, in bytes, by a rough count.
const MAX_SIZE: usize = 256 << 20;

/// The bytes that each answer takes, whatever is in it.
const BASE_SIZE: usize = 200;

/// Answers by a digest of everything that they depend on. Answers that have not been asked for in a long time are
/// forgotten.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The answers used last, which take up to half of the maximum.
    young: HashMap<BlobId, (Outcome, usize)>,
    /// The answers used before those.
    old: HashMap<BlobId, (Outcome, usize)>,
    /// The bytes that the young ones take.
    size: usize,
}

impl Answers {
    /// Returns the answer to a request, if it is known.
    pub(super) fn get(&mut self, request: &BlobId) -> Option<&Outcome> {
        if let Some(known) = self.old.remove(request) {
            self.add(*request, known);
        }
        self.young.get(request).map(|(answer, _)| answer)
    }

    /// Keeps an answer.
    pub(super) fn insert(&mut self, request: BlobId, answer: Outcome) {
        let size = BASE_SIZE + size(&answer);
        self.add(request, (answer, size));
    }

    fn add(&mut self, request: BlobId, (answer, size): (Outcome, usize)) {
        if self.size + size > MAX_SIZE / 2 {
            self.old = mem::take(&mut self.young);
            self.size = 0;
        }
        self.size += size;
        self.young.insert(request, (answer, size));
    }
}

/// Returns the rough size of an answer. Values take a multiple of their length as text.
fn size(answer: &Outcome) -> usize {
    match answer {
        Ok(Answer::Found(value) | Answer::Template(value)) => json::compact(value).len().saturating_mul(4),
        Ok(Answer::NotFound) => 0,
        Ok(Answer::Lookup(wanted)) => wanted.key.len(),
        Ok(Answer::Failed(Failed { text, .. })) | Err(text) => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_nobody_asks_for_are_forgotten() {
        let id = |number: usize| BlobId::of(number.to_string().as_bytes());
        let (text, mut answers) = ("x".repeat(1 << 20), Answers::default());
        let most = MAX_SIZE >> 20;
        for number in 0..4 * most {
            answers.insert(id(number), Ok(Answer::Failed(Failed { text: text.clone(), place: None })));
            assert_eq!(answers.get(&id(0)), Some(&Ok(Answer::Failed(Failed { text: text.clone(), place: None }))));
            assert!(answers.young.len() + answers.old.len() <= most + 1);
        }
        assert_eq!(answers.get(&id(1)), None);
    }
}
