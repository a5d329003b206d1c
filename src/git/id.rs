//! Identifiers of commits and branches.

use std::fmt;

use crate::hex::{self, Hex};

/// The id of a commit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(pub(super) [u8; 20]);

/// The number of hexadecimal digits in [`CommitId::short`].
const SHORT_LENGTH: usize = 8;

impl CommitId {
    /// The id that git writes where there is no commit.
    pub const NOWHERE: CommitId = CommitId([0; 20]);

    /// Returns the id that these bytes are.
    pub fn from_bytes(bytes: [u8; 20]) -> CommitId {
        CommitId(bytes)
    }

    /// Returns the bytes of the id.
    pub fn to_bytes(self) -> [u8; 20] {
        self.0
    }

    /// Parses 40 hexadecimal digits.
    pub fn from_hex(digits: &str) -> Option<CommitId> {
        let mut id = [0; 20];
        hex::read(digits.as_bytes(), &mut id)?;
        Some(CommitId(id))
    }

    /// Returns the first digits, for display.
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(SHORT_LENGTH);
        text
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Hex(&self.0))
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommitId({self})")
    }
}

/// The name of a local branch, without `refs/heads/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchName(String);

impl BranchName {
    /// Makes the name of a branch from its short name.
    pub fn new(name: impl Into<String>) -> BranchName {
        BranchName(name.into())
    }

    /// Returns the short name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the full name of the reference, with `refs/heads/`.
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    pub(super) fn from_reference(reference: &str) -> Option<BranchName> {
        reference.strip_prefix("refs/heads/").map(BranchName::new)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_ids_round_trip() {
        let hex = "ce013625030ba8dba906f756967f9e9ca394464a";
        let id = CommitId::from_hex(hex).unwrap();
        assert_eq!((id.to_string().as_str(), id.short().as_str()), (hex, "ce013625"));
        for wrong in ["", "ce01", "ge013625030ba8dba906f756967f9e9ca394464a", "^e013625030ba8dba906f756967f9e9ca394464"]
        {
            assert_eq!(CommitId::from_hex(wrong), None, "{wrong}");
        }
    }
}
