//! HTTP as all forges use it: tokens, JSON, pages and rate limits.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue, LINK, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};
use serde_json::Value as Json;

use super::error::ForgeError;
use crate::delivery::{Private, describe, one_line};

/// The time limit for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size, in bytes, of an answer and of a page of a list.
const MAX_BODY: usize = 32 << 20;

/// The maximum number of characters of an answer that an error quotes.
const MAX_QUOTED: usize = 300;

/// The maximum number of pages of a list.
const MAX_PAGES: usize = 100;

/// The maximum number of redirections, all within the same server.
const MAX_REDIRECTIONS: usize = 3;

/// The longest wait for a rate limit.
const MAX_WAIT: Duration = Duration::from_mins(5);

/// The wait if a rate limit does not say how long it lasts.
const DEFAULT_WAIT: Duration = Duration::from_mins(1);

/// Returns the waits between the attempts of one request.
pub(super) fn waits() -> impl Iterator<Item = Duration> {
    let waits = ExponentialBuilder::default().with_min_delay(Duration::from_millis(200)).with_jitter();
    waits.with_max_delay(Duration::from_secs(20)).with_max_times(6).build()
}

/// A client of one forge's API.
#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    base: Url,
    /// The token, which no error may quote.
    token: Option<Private<String>>,
}

/// A request: its method, the path below the base address or a whole address, and the permission that it needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    /// The advice if the token lacks the permission.
    pub(super) need: &'a str,
}

impl Http {
    /// Makes a client for the API at `base`. The token is sent to that server alone, in the header of `auth`, after
    /// the text given there.
    pub(super) fn new(
        base: &str,
        token: Option<Private<String>>,
        (auth, before): (&'static str, &str),
        headers: &[(&'static str, &'static str)],
    ) -> Result<Http, ForgeError> {
        let wrong =
            |reason: &dyn std::fmt::Display| ForgeError::Options(format!("the address of the forge's API: {reason}"));
        let base = Url::parse(&format!("{}/", base.trim_end_matches('/'))).map_err(|error| wrong(&error))?;
        if !matches!(base.scheme(), "http" | "https") || !base.username().is_empty() || base.password().is_some() {
            return Err(wrong(&"it must begin with http:// or https:// and contain no password"));
        }
        let mut sent = HeaderMap::new();
        sent.insert(USER_AGENT, HeaderValue::from_static(concat!("hierad/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in headers {
            sent.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        sent.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        if let Some(token) = &token {
            let unusable = |_| ForgeError::Options("the token contains invalid characters".to_owned());
            let mut value = HeaderValue::from_str(&format!("{before}{}", token.0)).map_err(unusable)?;
            value.set_sensitive(true);
            sent.insert(HeaderName::from_static(auth), value);
        }
        // The process has one provider; later calls leave it as it is.
        _ = rustls::crypto::ring::default_provider().install_default();
        let origin = base.origin();
        // A renamed repository redirects. Nothing is sent to another server, least of all the token.
        let policy = redirect::Policy::custom(move |attempt| {
            if attempt.url().origin() == origin && attempt.previous().len() <= MAX_REDIRECTIONS {
                attempt.follow()
            } else {
                attempt.stop()
            }
        });
        let client = Client::builder().timeout(ANSWER_TIMEOUT).redirect(policy).default_headers(sent).build();
        let failed = |error: reqwest::Error| ForgeError::Options(describe(&error.without_url()));
        Ok(Http { client: client.map_err(failed)?, base, token })
    }

    /// Gets a document. Tries again after failures that may pass.
    pub(super) async fn get(&self, path: &str, need: &str) -> Result<Json, ForgeError> {
        Ok(self.get_page(path, need).await?.0)
    }

    /// Gets all pages of a list.
    pub(super) async fn list(&self, path: &str, need: &str) -> Result<Vec<Json>, ForgeError> {
        let (mut all, mut next) = (Vec::new(), Some(path.to_owned()));
        for _ in 0..MAX_PAGES {
            let Some(path) = next.take() else { break };
            let (page, headers) = self.get_page(&path, need).await?;
            let Json::Array(items) = page else {
                let call = format!("GET {path}");
                return Err(ForgeError::Unexpected { call, reason: "it is no list".to_owned() });
            };
            all.extend(items);
            next = next_page(&headers).filter(|url| self.is_same_server(url));
        }
        Ok(all)
    }

    async fn get_page(&self, path: &str, need: &str) -> Result<(Json, HeaderMap), ForgeError> {
        let mut waits = waits();
        loop {
            match self.send(Call { method: &Method::GET, path, need }, None).await {
                Err(error) => match (error.retry(), waits.next()) {
                    (Some(least), Some(wait)) => tokio::time::sleep(wait.max(least)).await,
                    _ => return Err(error),
                },
                done => return done,
            }
        }
    }

    /// Sends a request that changes something, only once: callers must check what is there before they repeat it.
    pub(super) async fn change(
        &self,
        method: &Method,
        path: &str,
        need: &str,
        body: Option<&Json>,
    ) -> Result<Json, ForgeError> {
        Ok(self.send(Call { method, path, need }, body).await?.0)
    }

    fn is_same_server(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| url.origin() == self.base.origin())
    }

    async fn send(&self, call: Call<'_>, body: Option<&Json>) -> Result<(Json, HeaderMap), ForgeError> {
        let name = format!("{} {}", call.method, call.path);
        let url = self.base.join(call.path).ok().filter(|url| self.is_same_server(url.as_str()));
        let url = url.ok_or_else(|| ForgeError::Options(format!("{name}: this is no address of the forge")))?;
        let mut request = self.client.request(call.method.clone(), url);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let unreachable = |error: reqwest::Error| ForgeError::Unreachable {
            call: name.clone(),
            reason: self.without_token(&describe(&error.without_url())),
        };
        let response = request.send().await.map_err(unreachable)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let text = read_body(response).await.map_err(unreachable)?;
        if !status.is_success() {
            return Err(self.refusal(&name, status, &headers, &text, call.need));
        }
        if text.is_empty() {
            return Ok((Json::Null, headers));
        }
        let unexpected =
            |error: serde_json::Error| ForgeError::Unexpected { call: name.clone(), reason: error.to_string() };
        Ok((serde_json::from_slice(&text).map_err(unexpected)?, headers))
    }

    fn refusal(&self, call: &str, status: StatusCode, headers: &HeaderMap, body: &[u8], need: &str) -> ForgeError {
        let message = serde_json::from_slice(body).map_or_else(|_| one_line(body), |body| message(&body));
        let message: String = self.without_token(&message).chars().take(MAX_QUOTED).collect();
        let now = SystemTime::now();
        let retry = match wait(status, headers, &message, now) {
            Some(wait) if wait > MAX_WAIT => None,
            wait => wait,
        };
        let advice = match status.as_u16() {
            _ if retry.is_some() => String::new(),
            429 => "its rate limit is used up; run this again later".to_owned(),
            301 | 302 | 307 | 308 => {
                "it redirects to another server, which is not followed; name that one with --api".to_owned()
            }
            401 if self.token.is_none() => format!("there is no token: {need}"),
            401 => format!("the token is not valid, or has expired: {need}"),
            403 | 404 => need.to_owned(),
            _ => String::new(),
        };
        ForgeError::Refused { call: call.to_owned(), status: status.as_u16(), message, advice, retry }
    }

    fn without_token(&self, text: &str) -> String {
        match &self.token {
            Some(token) => text.replace(&token.0, "***"),
            None => text.to_owned(),
        }
    }
}

/// One repository on a forge.
#[derive(Debug)]
pub struct Project {
    pub(super) http: Http,
    /// Its path below the address of the API.
    pub(super) path: String,
    /// The address of the API.
    pub(super) api: String,
    /// The address of GraphQL, if a job gives it.
    pub(super) graphql: Option<String>,
}

/// Returns a field that is a text.
pub(super) fn text(value: &Json, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

/// Makes the error for an answer that lacks something.
pub(super) fn unexpected(call: String, reason: &str) -> ForgeError {
    ForgeError::Unexpected { call, reason: reason.to_owned() }
}

/// Returns the first characters of a text.
pub(super) fn truncated(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Encodes a text for one segment of a path, or for a query.
pub(super) fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

async fn read_body(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while body.len() < MAX_BODY
        && let Some(chunk) = response.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Returns the message of a refusal, with the errors that it lists.
fn message(body: &Json) -> String {
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let main = ["message", "error", "error_description"].into_iter().find_map(|name| body.get(name)).map(text);
    let more = body.get("errors").filter(|errors| !errors.is_null()).map(text);
    let all: Vec<String> = main.into_iter().chain(more).collect();
    one_line(all.join(": ").as_bytes())
}

/// Returns the wait after which a request that was refused may succeed, or `None` if it never will.
fn wait(status: StatusCode, headers: &HeaderMap, message: &str, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let number = |name: &str| header(name).and_then(|text| text.parse::<u64>().ok());
    let until = |moment: SystemTime| moment.duration_since(now).unwrap_or_default();
    let date = |text| httpdate::parse_http_date(text).ok().map(until);
    let retry_after = header(RETRY_AFTER.as_str());
    let retry_after = retry_after.and_then(|text| text.parse().ok().map(Duration::from_secs).or_else(|| date(text)));
    let is_used_up = number("x-ratelimit-remaining") == Some(0);
    let reset = number("x-ratelimit-reset").or_else(|| number("ratelimit-reset"));
    let reset = reset.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds))).map(until);
    match status.as_u16() {
        429 => Some(retry_after.or(reset).unwrap_or(DEFAULT_WAIT)),
        403 if is_used_up => Some(retry_after.or(reset).unwrap_or(DEFAULT_WAIT)),
        403 if retry_after.is_some() || message.to_lowercase().contains("rate limit") => {
            Some(retry_after.unwrap_or(DEFAULT_WAIT))
        }
        500 | 502..=504 => Some(retry_after.unwrap_or_default()),
        _ => None,
    }
}

/// Returns the address of the next page from the header `Link`.
fn next_page(headers: &HeaderMap) -> Option<String> {
    let link = headers.get(LINK)?.to_str().ok()?;
    let next = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    Some(next.split_once('<')?.1.split_once('>')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (HeaderName::from_static(k), HeaderValue::from_str(v).unwrap())).collect()
    }

    #[test]
    fn limits_of_rates_are_waited_for() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        for (status, sent, message, expected) in [
            (429, headers(&[("retry-after", "7")]), "", Some(7)),
            (429, headers(&[]), "", Some(60)),
            (403, headers(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1030")]), "", Some(30)),
            (403, headers(&[("retry-after", "3")]), "You have exceeded a secondary rate limit", Some(3)),
            (403, headers(&[]), "You have exceeded a secondary rate limit", Some(60)),
            (403, headers(&[]), "Resource not accessible by integration", None),
            (502, headers(&[]), "", Some(0)),
            (422, headers(&[]), "", None),
            (404, headers(&[]), "", None),
        ] {
            let wait = wait(StatusCode::from_u16(status).unwrap(), &sent, message, now);
            assert_eq!(wait, expected.map(Duration::from_secs), "{status} {message}");
        }
    }

    #[test]
    fn the_next_page_is_that_of_the_link_header() {
        let link = "<https://f/a?page=1>; rel=\"prev\", <https://f/a?page=3>; rel=\"next\", <https://f/a?page=9>; rel=\"last\"";
        assert_eq!(next_page(&headers(&[("link", link)])).as_deref(), Some("https://f/a?page=3"));
        assert_eq!(next_page(&headers(&[("link", "<https://f/a?page=1>; rel=\"first\"")])), None);
    }
}
