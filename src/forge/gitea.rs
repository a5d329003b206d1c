//! Gitea and Forgejo: their API is in most that is needed here GitHub's of old.

/// The advice for tokens that may not read.
pub(super) const READ: &str = "the token must be one that can read the repository";

/// The advice for tokens that may not comment.
pub(super) const COMMENT: &str = "the token needs the scopes `write:issue` and `read:repository`, and must see the \
                                  repository; the token of a fork's run may only read";

/// The advice for tokens that may not set a status.
pub(super) const STATUS: &str = "the token needs the scope `write:repository`";
