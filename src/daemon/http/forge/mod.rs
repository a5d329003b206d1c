//! Forges, and the signatures of their webhooks.

pub(super) mod requests;

use axum::http::{HeaderMap, HeaderValue};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::disclosure::is_same;

/// A kind of server that repositories are pushed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forge {
    /// github.com and GitHub Enterprise.
    GitHub,
    /// gitlab.com and GitLab.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
    /// bitbucket.org and Bitbucket Data Center.
    Bitbucket,
}

impl Forge {
    const ALL: [Forge; 4] = [Forge::GitHub, Forge::GitLab, Forge::Gitea, Forge::Bitbucket];

    /// Returns its name in settings and paths.
    pub fn as_str(self) -> &'static str {
        match self {
            Forge::GitHub => "github",
            Forge::GitLab => "gitlab",
            Forge::Gitea => "gitea",
            Forge::Bitbucket => "bitbucket",
        }
    }

    /// Returns the forge of a name, or `None` if there is none.
    pub fn of(name: &str) -> Option<Forge> {
        Forge::ALL.into_iter().find(|forge| forge.as_str() == name)
    }

    /// Returns the header that names the event.
    fn event_header(self) -> &'static str {
        match self {
            Forge::GitHub => "x-github-event",
            Forge::GitLab => "x-gitlab-event",
            Forge::Gitea => "x-gitea-event",
            Forge::Bitbucket => "x-event-key",
        }
    }

    /// Returns the event of a webhook, or an empty text if it names none.
    pub(super) fn event(self, headers: &HeaderMap) -> &str {
        headers.get(self.event_header()).and_then(|event| event.to_str().ok()).unwrap_or("")
    }

    /// Returns true if an event means that references may have moved.
    pub(super) fn is_push(self, event: &str) -> bool {
        match self {
            Forge::GitHub | Forge::Gitea => matches!(event, "push" | "create" | "delete"),
            Forge::GitLab => matches!(event, "Push Hook" | "Tag Push Hook" | "System Hook"),
            Forge::Bitbucket => matches!(event, "repo:push" | "repo:refs_changed"),
        }
    }

    /// Returns true if an event is about a pull request or merge request.
    pub(super) fn is_request(self, event: &str) -> bool {
        match self {
            Forge::GitHub => event == "pull_request",
            Forge::Gitea => matches!(event, "pull_request" | "pull_request_sync"),
            Forge::GitLab => event == "Merge Request Hook",
            Forge::Bitbucket => false,
        }
    }

    /// Returns the proof in a webhook's headers that the forge knows the secret, or `None` if there is none.
    pub(super) fn proof(self, headers: &HeaderMap) -> Option<Proof> {
        let header = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
        match self {
            Forge::GitHub => Proof::signature(header("x-hub-signature-256")?.strip_prefix(b"sha256=")?),
            Forge::GitLab => Some(Proof::Token(header("x-gitlab-token")?.to_vec())),
            Forge::Gitea => Proof::signature(header("x-gitea-signature")?),
            Forge::Bitbucket => Proof::signature(header("x-hub-signature")?.strip_prefix(b"sha256=")?),
        }
    }
}

/// A proof that a client knows the secret.
pub(super) enum Proof {
    /// The secret itself.
    Token(Vec<u8>),
    /// The HMAC-SHA256 of the body.
    Signature([u8; 32]),
}

impl Proof {
    fn signature(digits: &[u8]) -> Option<Proof> {
        let (pairs, []) = digits.as_chunks::<2>() else { return None };
        let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
        let bytes: Vec<u8> = pairs.iter().map(byte).collect::<Option<_>>()?;
        Some(Proof::Signature(bytes.try_into().ok()?))
    }
}

fn digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Checks a body, piece by piece, against its proof.
pub(super) struct Verifier<'s> {
    proof: Proof,
    secret: &'s [u8],
    mac: Option<Hmac<Sha256>>,
}

impl<'s> Verifier<'s> {
    pub(super) fn new(proof: Proof, secret: &'s [u8]) -> Verifier<'s> {
        // A key may have any length.
        Verifier { proof, secret, mac: Hmac::new_from_slice(secret).ok() }
    }

    /// Returns true if the proof is wrong, whatever the body is.
    pub(super) fn fails_at_once(&self) -> bool {
        matches!(&self.proof, Proof::Token(token) if !is_same(token, self.secret))
    }

    /// Adds a piece of the body.
    pub(super) fn update(&mut self, piece: &[u8]) {
        if let Some(mac) = &mut self.mac {
            mac.update(piece);
        }
    }

    /// Returns true if the sender knows the secret. It takes the same time for every answer.
    pub(super) fn passes(self) -> bool {
        match self.proof {
            Proof::Token(token) => is_same(&token, self.secret),
            Proof::Signature(signature) => self.mac.is_some_and(|mac| mac.verify_slice(&signature).is_ok()),
        }
    }
}
