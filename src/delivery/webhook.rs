//! Reports for a server.

use std::time::Duration;

use hmac::{Hmac, Mac};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, Response, Url, redirect};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::Parcel;

/// How much of a refusal is told, in bytes.
const MAX_WORDS: usize = 300;

/// A server that each report is sent to by HTTP POST, as JSON. Headers tell the id (`Idempotency-Key`), the event (`X-Hierad-Event:
/// report`) and, where there is a secret, the signature (`X-Hierad-Signature-256: sha256=...`, HMAC-SHA256 of the body, as
/// GitHub's webhooks have it). The report is taken if the server answers 2xx; redirections are not followed.
#[derive(Debug)]
pub struct Webhook {
    client: Client,
    url: Url,
    secret: Option<Secret>,
}

/// A webhook that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The address is none.
    #[error("'{url}' is no address: {reason}")]
    Address {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A header cannot be sent.
    #[error("'{0}' is no header that can be sent")]
    Header(String),
    /// There are no means for it.
    #[error("cannot prepare for HTTP: {0}")]
    Client(#[from] reqwest::Error),
}

struct Secret(Zeroizing<Vec<u8>>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secret)")
    }
}

impl Webhook {
    /// The server at `url`, which has `limit` for an answer and gets `headers` besides those that it always gets.
    pub fn new(
        url: &str,
        secret: Option<Zeroizing<Vec<u8>>>,
        headers: &[(String, String)],
        limit: Duration,
    ) -> Result<Webhook, WebhookError> {
        let url = Webhook::check(url)?;
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            let wrong = || WebhookError::Header(name.clone());
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            sent.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
        }
        // There is one for the process; whoever comes later finds it there.
        _ = rustls::crypto::ring::default_provider().install_default();
        let client =
            Client::builder().default_headers(sent).timeout(limit).redirect(redirect::Policy::none()).build()?;
        Ok(Webhook { client, url, secret: secret.map(Secret) })
    }

    /// The address in a text.
    pub fn check(text: &str) -> Result<Url, WebhookError> {
        let wrong = |reason: String| WebhookError::Address { url: text.to_owned(), reason };
        let url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("it must begin with http:// or https://".to_owned()));
        }
        Ok(url)
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), String> {
        let body = parcel.report.to_vec();
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("hierad/", env!("CARGO_PKG_VERSION")))
            .header("Idempotency-Key", &parcel.id)
            .header("X-Hierad-Event", "report");
        if let Some(Secret(secret)) = &self.secret {
            request = request.header("X-Hierad-Signature-256", signature(secret, &body));
        }
        match request.body(body).send().await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => Err(refusal(response).await),
            // The address may hold a token, so it is not told.
            Err(error) => Err(describe(&error.without_url())),
        }
    }
}

/// HMAC-SHA256 of a body, as the header has it.
fn signature(secret: &[u8], body: &[u8]) -> String {
    // A key may have any length.
    let mac = Hmac::<Sha256>::new_from_slice(secret).map(|mac| mac.chain_update(body).finalize().into_bytes());
    let digits = mac.unwrap_or_default().iter().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"));
    format!("sha256={digits}")
}

async fn refusal(mut response: Response) -> String {
    let status = response.status();
    let mut words = Vec::new();
    while words.len() < MAX_WORDS
        && let Ok(Some(chunk)) = response.chunk().await
    {
        words.extend_from_slice(&chunk);
    }
    words.truncate(MAX_WORDS);
    let words = String::from_utf8_lossy(&words);
    let words: String = words.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if words.is_empty() {
        format!("the server answers {status}")
    } else {
        format!("the server answers {status}: {words}")
    }
}

/// An error with its causes: reqwest's own text is general.
fn describe(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_hmac_sha256() {
        // RFC 4231, test case 2.
        let expected = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature(b"Jefe", b"what do ya want for nothing?"), expected);
    }
}
