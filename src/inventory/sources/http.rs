//! A client of one HTTP server, with bounds on its answers.

use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::{Certificate, Client, Identity, Method, Response, redirect};
use zeroize::Zeroizing;

use crate::delivery::{describe, one_line};
use crate::disk;
use crate::inventory::FetchError;
use crate::settings::{ServerSetting, TokenSetting};

/// The maximum size, in bytes, of an answer.
const MAX_BODY: usize = 512 << 20;

/// The maximum number of bytes that are read from a refusal, and of characters that an error quotes from it.
const MAX_REFUSAL: usize = 4096;
const MAX_QUOTED: usize = 300;

/// The time limit for connecting.
const MAX_CONNECT: Duration = Duration::from_secs(5);

/// The maximum size, in bytes, of a certificate's file.
const MAX_PEM: u64 = 4 << 20;

/// The API of a server.
pub(super) struct Api {
    /// The header of tokens.
    pub(super) token: &'static str,
    /// The advice if the API is not there.
    pub(super) advice_if_absent: &'static str,
}

/// A client of one server.
pub(super) struct Http {
    client: Client,
    api: &'static Api,
    /// The address of the server.
    base: String,
}

/// An answer: its body, and the number of all results, if the server says so.
pub(super) struct Answer {
    pub(super) body: Vec<u8>,
    pub(super) total: Option<usize>,
}

impl Http {
    /// Returns a client with the certificates and the token that the settings name.
    pub(super) fn new(setting: &ServerSetting, api: &'static Api) -> Result<Http, FetchError> {
        // The process has one provider, which later calls do not replace.
        _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder().timeout(setting.timeout).connect_timeout(MAX_CONNECT.min(setting.timeout));
        client = client.redirect(redirect::Policy::none()).default_headers(headers(setting.token.as_ref(), api)?);
        if let Some((certificate, key)) = &setting.certificate {
            client = client.identity(identity(certificate, key)?);
        }
        if let Some(path) = &setting.authorities {
            let authorities = Certificate::from_pem_bundle(&pem(path, "ca")?).unwrap_or_default();
            if authorities.is_empty() {
                let text = format!("the file {} of 'ca' has no certificate in PEM form", path.display());
                return Err(FetchError::Settings(text));
            }
            client = client.tls_certs_only(authorities);
        }
        let failed = |error: reqwest::Error| FetchError::Settings(describe(&error.without_url()));
        Ok(Http { client: client.build().map_err(failed)?, api, base: setting.url.clone() })
    }

    /// Sends a request with JSON as its body, and returns the whole answer.
    pub(super) async fn ask(&self, method: Method, path: &str, body: String) -> Result<Answer, FetchError> {
        let url = format!("{}{path}", self.base);
        let unreachable = |error: reqwest::Error| FetchError::Unreachable {
            url: url.clone(),
            reason: if error.is_timeout() { "it takes too long".to_owned() } else { describe(&error.without_url()) },
        };
        let request = self.client.request(method, &url).header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(self.refusal(url, response).await);
        }
        let total = response.headers().get("x-records").and_then(|value| value.to_str().ok()?.parse().ok());
        let body = read(response, MAX_BODY).await.map_err(unreachable)?;
        if body.len() > MAX_BODY {
            return Err(FetchError::Malformed {
                url,
                reason: format!("it has more than {} MiB; a smaller 'page' makes it smaller", MAX_BODY >> 20),
            });
        }
        Ok(Answer { body, total })
    }

    async fn refusal(&self, url: String, response: Response) -> FetchError {
        let status = response.status().as_u16();
        let mut body = read(response, MAX_REFUSAL).await.unwrap_or_default();
        body.truncate(MAX_REFUSAL);
        let is_page = body.trim_ascii_start().starts_with(b"<");
        let body_start = if is_page { String::new() } else { one_line(&body).chars().take(MAX_QUOTED).collect() };
        let advice = match status {
            401 | 403 => "check 'token_file', or 'cert' and 'key', and that the server lets them query",
            404 => self.api.advice_if_absent,
            301 | 302 | 303 | 307 | 308 => "redirections are not followed: name the server itself in 'url'",
            _ => "",
        };
        FetchError::Refused { url, status, body_start, advice }
    }

    /// Returns the address of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// Reads an answer up to a little more than `limit` bytes.
async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while body.len() <= limit
        && let Some(chunk) = response.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn headers(token: Option<&TokenSetting>, api: &Api) -> Result<HeaderMap, FetchError> {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("hierad/", env!("CARGO_PKG_VERSION"))));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(token) = token {
        let unusable = |_| FetchError::Settings("the token contains invalid characters".to_owned());
        let mut value = HeaderValue::from_bytes(&read_token(token)?).map_err(unusable)?;
        value.set_sensitive(true);
        headers.insert(api.token, value);
    }
    Ok(headers)
}

fn read_token(token: &TokenSetting) -> Result<Zeroizing<Vec<u8>>, FetchError> {
    match token {
        TokenSetting::File(path) => disk::read_secret(path).map_err(|error| FetchError::Settings(error.to_string())),
        TokenSetting::Variable(name) => match std::env::var(name) {
            Ok(token) if !token.trim().is_empty() => Ok(Zeroizing::new(token.trim().as_bytes().to_vec())),
            _ => Err(FetchError::Settings(format!("'token_env': the variable {name} of the environment has no token"))),
        },
    }
}

fn identity(certificate: &Path, key: &Path) -> Result<Identity, FetchError> {
    let mut both = Zeroizing::new(pem(certificate, "cert")?);
    both.push(b'\n');
    both.extend(disk::read_key(key).map_err(|error| FetchError::Settings(error.to_string()))?.iter());
    Identity::from_pem(&both).map_err(|_| {
        let (certificate, key) = (certificate.display(), key.display());
        FetchError::Settings(format!("{certificate} and {key} are not a certificate and its key in PEM form"))
    })
}

fn pem(path: &Path, setting: &str) -> Result<Vec<u8>, FetchError> {
    let failed =
        |error| FetchError::Settings(format!("cannot read {}, the file of '{setting}': {error}", path.display()));
    disk::read_regular(path, MAX_PEM).map_err(failed)
}
