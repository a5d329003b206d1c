//! Delivers reports to an HTTP server.

use std::time::{Duration, SystemTime};

use hmac::{Hmac, Mac};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::{Certificate, Client, Response, StatusCode, Url, redirect};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::one_line::{describe, one_line};
use super::{DeliveryError, Parcel, Private, SizeLimit};
use crate::hex::Hex;

/// The maximum number of bytes of a refusal that are read, and of characters that an error quotes.
const MAX_BODY: usize = 4096;
const MAX_QUOTED: usize = 300;

/// A server to which each report is sent by HTTP POST, as JSON. Headers carry the id (`Idempotency-Key`), the event
/// (`X-Hierad-Event: report`) and, if there is a secret, the signature (`X-Hierad-Signature-256: sha256=...`, the
/// HMAC-SHA256 of the body, as in GitHub's webhooks). The delivery succeeds if the server answers 2xx; redirections are
/// not followed. An answer of 429 or 503 may ask for a wait (`Retry-After`).
#[derive(Debug)]
pub struct Webhook {
    client: Client,
    url: Private<Url>,
    secret: Option<Private<Zeroizing<Vec<u8>>>>,
    size: SizeLimit,
    /// Texts that no error may quote, though the server may send them back: parts of the address, headers.
    hidden: Private<Vec<String>>,
}

/// The options of [`Webhook`].
#[derive(Debug)]
pub struct WebhookOptions {
    /// The address, which may contain a token.
    pub url: Private<String>,
    /// The key that signs bodies.
    pub secret: Option<Private<Zeroizing<Vec<u8>>>>,
    /// Headers in addition to those that are always sent.
    pub headers: Private<Vec<(String, String)>>,
    /// Certificates of authorities for the server, in PEM form, in place of the system's.
    pub authorities: Option<Vec<u8>>,
    /// The time limit of an answer.
    pub limit: Duration,
    /// The maximum size of a body. Larger reports are replaced by summaries.
    pub size: SizeLimit,
}

/// Webhook options that cannot be used. Errors do not quote them, since they may contain a token.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The address is invalid.
    #[error("this is not a valid address: {0}")]
    Address(String),
    /// A header is invalid.
    #[error("'{0}' is not a valid header")]
    Header(String),
    /// The authorities' file has no certificate.
    #[error("'ca_file' contains no certificate in PEM form")]
    Authorities,
    /// The HTTP client cannot be made.
    #[error("cannot prepare for HTTP: {0}")]
    Client(String),
}

impl Webhook {
    /// Makes a client for the server.
    pub fn new(options: WebhookOptions) -> Result<Webhook, WebhookError> {
        let WebhookOptions { url, secret, headers, authorities, limit, size } = options;
        let url = Webhook::check(&url.0)?;
        // The process has one provider; later calls leave it as it is.
        _ = rustls::crypto::ring::default_provider().install_default();
        let failed = |error: reqwest::Error| WebhookError::Client(describe(&error.without_url()));
        let mut client = Client::builder().timeout(limit).redirect(redirect::Policy::none());
        client = client.default_headers(default_headers(&headers.0)?);
        if let Some(pem) = authorities {
            let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if certificates.is_empty() {
                return Err(WebhookError::Authorities);
            }
            client = client.tls_certs_only(certificates);
        }
        let hidden = Private(hidden(&url, &headers.0));
        Ok(Webhook { client: client.build().map_err(failed)?, url: Private(url), secret, size, hidden })
    }

    /// Parses an address.
    pub fn check(text: &str) -> Result<Url, WebhookError> {
        let url = Url::parse(text).map_err(|error| WebhookError::Address(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WebhookError::Address("it must begin with http:// or https://".to_owned()));
        }
        Ok(url)
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), DeliveryError> {
        let body = self.size.within_limit(parcel).to_vec();
        let mut request = self
            .client
            .post(self.url.0.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("hierad/", env!("CARGO_PKG_VERSION")))
            .header("Idempotency-Key", parcel.job.id.as_str())
            .header("X-Hierad-Event", "report");
        if let Some(secret) = &self.secret {
            request = request.header("X-Hierad-Signature-256", signature(&secret.0, &body));
        }
        match request.body(body).send().await {
            Ok(response) if response.status().is_success() => Ok(()),
            // It will be as large the next time, and others wait for it.
            Ok(response) if response.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                Err(DeliveryError::Impossible(self.refusal(response).await))
            }
            Ok(response) => {
                let retry_after = retry_after(response.status(), response.headers(), SystemTime::now());
                Err(DeliveryError::Refused { text: self.refusal(response).await, retry_after })
            }
            Err(error) => Err(DeliveryError::refused(self.without_hidden(describe(&error.without_url())))),
        }
    }

    async fn refusal(&self, mut response: Response) -> String {
        let status = response.status();
        let mut body = Vec::new();
        while body.len() < MAX_BODY
            && let Ok(Some(chunk)) = response.chunk().await
        {
            body.extend_from_slice(&chunk);
        }
        body.truncate(MAX_BODY);
        let body: String = self.without_hidden(one_line(&body)).chars().take(MAX_QUOTED).collect();
        let mut text = format!("the server answers {status}");
        if status.is_redirection() {
            text += ", and redirections are not followed";
        }
        if body.is_empty() { text } else { format!("{text}: {body}") }
    }

    fn without_hidden(&self, text: String) -> String {
        self.hidden.0.iter().fold(text, |text, hidden| text.replace(hidden, "***"))
    }
}

/// Returns the wait that an answer asks for, given in seconds or as a date.
fn retry_after(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Duration {
    let has_meaning = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let text =
        headers.get(RETRY_AFTER).filter(|_| has_meaning).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let until = |moment: SystemTime| moment.duration_since(now).ok();
    let seconds = text.parse().map(Duration::from_secs).ok();
    seconds.or_else(|| httpdate::parse_http_date(text).ok().and_then(until)).unwrap_or_default()
}

fn default_headers(headers: &[(String, String)]) -> Result<HeaderMap, WebhookError> {
    let mut sent = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || WebhookError::Header(name.clone());
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        sent.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
    }
    Ok(sent)
}

/// Returns the texts to hide from errors: servers repeat requests that they do not understand, such as `Cannot POST
/// /hooks/TOKEN`.
fn hidden(url: &Url, headers: &[(String, String)]) -> Vec<String> {
    /// Shorter parts are not tokens, and may be ordinary words.
    const MIN_LENGTH: usize = 5;
    let parts = url.path().split('/').chain(url.query()).chain(url.password());
    let pairs: Vec<_> = url.query_pairs().map(|(_, value)| value.into_owned()).collect();
    // As in `Authorization: Bearer TOKEN`.
    let words = headers.iter().flat_map(|(_, value)| value.split(' '));
    let candidates = parts.chain(pairs.iter().map(String::as_str)).chain(words);
    let mut hidden: Vec<String> = candidates.filter(|part| part.len() >= MIN_LENGTH).map(str::to_owned).collect();
    // Longer ones first: one may be part of another.
    hidden.sort_by_key(|part| std::cmp::Reverse(part.len()));
    hidden
}

/// Returns the signature header's value, the HMAC-SHA256 of a body.
fn signature(secret: &[u8], body: &[u8]) -> String {
    // A key may have any length.
    let mac = Hmac::<Sha256>::new_from_slice(secret).map(|mac| mac.chain_update(body).finalize().into_bytes());
    format!("sha256={}", Hex(&mac.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_hmac_sha256() {
        // RFC 4231, test case 2.
        let expected = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature(b"Jefe", b"what do ya want for nothing?"), expected);
    }

    #[test]
    fn retry_after_is_parsed() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let check = |status: u16, value: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_str(value).unwrap())]);
            retry_after(StatusCode::from_u16(status).unwrap(), &headers, now).as_secs()
        };
        for (value, seconds) in [
            ("0", 0),
            ("120", 120),
            ("18446744073709551615", u64::MAX),
            ("18446744073709551616", 0),
            ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
            ("Sun, 06 Nov 1994 08:48:37 GMT", 0),
            ("-1", 0),
            ("1.5", 0),
            ("soon", 0),
            ("", 0),
        ] {
            assert_eq!((check(429, value), check(503, value)), (seconds, seconds), "{value}");
            assert_eq!(check(500, value), 0);
        }
        assert_eq!(retry_after(StatusCode::SERVICE_UNAVAILABLE, &HeaderMap::new(), now), Duration::ZERO);
    }

    #[test]
    fn possible_tokens_are_hidden() {
        let url = Url::parse("https://user:passw0rd@host/hooks/T0KEN1/x?key=T0KEN2").unwrap();
        let headers = [("Authorization".to_owned(), "Bearer T0KEN3".to_owned())];
        let hidden = hidden(&url, &headers);
        for part in ["T0KEN1", "T0KEN2", "T0KEN3", "passw0rd"] {
            assert!(hidden.iter().any(|hidden| hidden == part), "{hidden:?}");
        }
        assert!(!hidden.iter().any(|part| part == "x" || part.is_empty()), "{hidden:?}");
    }
}
