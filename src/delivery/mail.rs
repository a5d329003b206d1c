//! Delivers reports by mail.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lettre::message::header::{ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{
    AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters, TlsParametersBuilder,
};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Message, address};
use reqwest::Url;
use tokio::time::timeout;

use super::one_line::describe;
use super::{Parcel, Private, WholeReports};
use crate::event::{CommitEvent, EventKind, JobName};
use crate::report::{branch_label, shorten_middle};
use crate::visible::visible;

pub use lettre::message::Mailbox;

/// The time limit for closing a connection after the server has the mail.
const FAREWELL: Duration = Duration::from_secs(1);

/// The maximum width of the headline in a subject.
const MAX_VERDICT: usize = 200;

/// Sends a mail for each report through an SMTP server: the headline is in the subject, the report as text, limited in
/// size, is the body. The `Message-ID` is made from the report's id, so that readers recognise a repeated mail.
#[derive(Debug)]
pub struct Mail {
    server: MailServer,
    protection: Protection,
    credentials: Option<Credentials>,
    from: Mailbox,
    to: Vec<Mailbox>,
    limit: Duration,
    whole: Arc<WholeReports>,
}

/// The options of [`Mail`].
#[derive(Debug)]
pub struct MailOptions {
    /// The server.
    pub server: MailServer,
    /// The user's name and password, if the server needs them.
    pub credentials: Option<(String, Private<String>)>,
    /// Certificates of authorities for the server, in PEM form, in place of the system's.
    pub authorities: Option<Vec<u8>>,
    /// The sender.
    pub from: Mailbox,
    /// The recipients.
    pub to: Vec<Mailbox>,
    /// The time limit of a delivery.
    pub limit: Duration,
    /// The places of whole reports.
    pub whole: Arc<WholeReports>,
}

/// An SMTP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailServer {
    host: String,
    port: u16,
    /// The protection of the connection.
    pub tls: MailTls,
}

/// The protection of a connection to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailTls {
    /// TLS from the start (`smtps://`).
    Implicit,
    /// STARTTLS, or nothing is sent.
    Required,
    /// STARTTLS if the server offers it.
    Opportunistic,
    /// No connection security.
    None,
}

/// Mail options that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The server's address is invalid.
    #[error("'{server}' is not a mail server: {reason}")]
    Server {
        /// The address as given.
        server: String,
        /// The fault.
        reason: &'static str,
    },
    /// A mail address is invalid.
    #[error("'{address}' is not a mail address: {source}")]
    Address {
        /// The address as given.
        address: String,
        /// The fault.
        source: address::AddressError,
    },
    /// The authorities' file has no certificate.
    #[error("'ca_file' contains no certificate in PEM form")]
    Authorities,
    /// TLS cannot be set up.
    #[error("cannot prepare for TLS: {0}")]
    Tls(String),
}

/// The TLS parameters of a connection, or `None` without TLS.
#[derive(Clone)]
struct Protection(Option<TlsParameters>);

impl std::fmt::Debug for Protection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "TLS" } else { "none" })
    }
}

impl MailServer {
    /// Parses `smtps://HOST[:PORT]` or `smtp://HOST[:PORT]`. The latter needs STARTTLS unless it is on this machine.
    pub fn parse(text: &str) -> Result<MailServer, MailError> {
        let wrong = |reason| MailError::Server { server: text.to_owned(), reason };
        let url = Url::parse(text).map_err(|_| wrong("it must be smtps://HOST:PORT or smtp://HOST:PORT"))?;
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user {
            // Not even the name is quoted: it may contain a part of the password.
            let server = format!("{}://...@{}", url.scheme(), url.host_str().unwrap_or_default());
            return Err(MailError::Server { server, reason: "its user belongs in 'user' and 'password_file'" });
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if host.is_empty() || !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("it must be smtps://HOST:PORT or smtp://HOST:PORT"));
        }
        let (port, tls) = match url.scheme() {
            "smtps" => (465, MailTls::Implicit),
            "smtp" if is_here(&host) => (25, MailTls::None),
            "smtp" => (25, MailTls::Required),
            _ => return Err(wrong("it must begin with smtp:// or smtps://")),
        };
        Ok(MailServer { host, port: url.port().unwrap_or(port), tls })
    }

    /// Returns true if the server is on this machine.
    pub fn is_here(&self) -> bool {
        is_here(&self.host)
    }
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Parses `user@example.com` or `Name <user@example.com>`.
pub fn mailbox(text: &str) -> Result<Mailbox, MailError> {
    text.parse().map_err(|source| MailError::Address { address: text.to_owned(), source })
}

impl Mail {
    /// Makes a mailer for a server.
    pub fn new(options: MailOptions) -> Result<Mail, MailError> {
        let MailOptions { server, credentials, authorities, from, to, limit, whole } = options;
        let protection = Protection::new(&server, authorities)?;
        let credentials = credentials.map(|(user, password)| Credentials::new(user, password.0));
        Ok(Mail { server, protection, credentials, from, to, limit, whole })
    }

    pub(super) async fn deliver(&self, parcel: &Parcel) -> Result<(), String> {
        let message = self.message(parcel).map_err(|error| format!("cannot write the mail: {error}"))?;
        match timeout(self.limit, self.send(&message)).await {
            Ok(Ok(mut connection)) => {
                // The server has the mail, so nothing that happens from here on matters.
                _ = timeout(FAREWELL, connection.abort()).await;
                Ok(())
            }
            Ok(Err(error)) => Err(format!("the mail server {}: {}", self.server.host, describe(&error))),
            Err(_) => {
                Err(format!("the mail server {}: took longer than {} s", self.server.host, self.limit.as_secs_f64()))
            }
        }
    }

    async fn send(&self, message: &Message) -> Result<AsyncSmtpConnection, lettre::transport::smtp::Error> {
        let MailServer { host, port, tls } = &self.server;
        let name = ClientId::default();
        let implicit = self.protection.0.clone().filter(|_| *tls == MailTls::Implicit);
        let server = (host.as_str(), *port);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, Some(self.limit), &name, implicit, None).await?;
        if let Some(protection) = &self.protection.0
            && (*tls == MailTls::Required || *tls == MailTls::Opportunistic && connection.can_starttls())
        {
            connection.starttls(protection.clone(), &name).await?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(&[Mechanism::Plain, Mechanism::Login], credentials).await?;
        }
        connection.send(message.envelope(), &message.formatted()).await?;
        Ok(connection)
    }

    fn message(&self, parcel: &Parcel) -> Result<Message, lettre::error::Error> {
        let builder = Message::builder()
            .from(self.from.clone())
            .subject(subject(parcel))
            .message_id(Some(format!("<{}@{}>", parcel.job.id, self.from.email.domain())))
            .raw_header(header("Auto-Submitted", "auto-generated"))
            .header(MIME_VERSION_1_0)
            .header(ContentType::TEXT_PLAIN);
        self.to.iter().fold(builder, |builder, to| builder.to(to.clone())).body(body(parcel, self.whole.place(parcel)))
    }
}

impl Protection {
    fn new(server: &MailServer, authorities: Option<Vec<u8>>) -> Result<Protection, MailError> {
        if server.tls == MailTls::None {
            return Ok(Protection(None));
        }
        // The process has one provider; later calls leave it as it is.
        _ = rustls::crypto::ring::default_provider().install_default();
        let mut parameters = TlsParametersBuilder::new(server.host.clone());
        if let Some(pem) = authorities {
            if !pem.windows(17).any(|words| words == b"BEGIN CERTIFICATE") {
                return Err(MailError::Authorities);
            }
            let certificates = Certificate::from_pem(&pem).map_err(|_| MailError::Authorities)?;
            parameters = parameters.certificate_store(CertificateStore::None).add_root_certificate(certificates);
        }
        Ok(Protection(Some(parameters.build().map_err(|error| MailError::Tls(describe(&error)))?)))
    }
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

/// Returns a subject such as `[control] production: 2 keys change on 12 of 143 nodes`.
fn subject(parcel: &Parcel) -> String {
    let CommitEvent { branch, after, kind, part, .. } = &parcel.event;
    let branch = match kind {
        _ if part.is_whole() => branch_label(&parcel.event).into_owned(),
        EventKind::Rewritten | EventKind::Facts => format!("{branch} ({})", kind.as_str()),
        _ => branch.to_string(),
    };
    let short = after.short();
    let verdict = parcel.text.as_deref().and_then(|text| text.lines().next()).unwrap_or(&short);
    // The policies that fail come last.
    visible(&format!("[{}] {branch}: {}", parcel.job.repository, shorten_middle(verdict, MAX_VERDICT))).into_owned()
}

fn body(parcel: &Parcel, whole: Option<String>) -> String {
    let text =
        parcel.text.as_deref().unwrap_or("This report was made before mail was configured, so it has no text.\n");
    let JobName { id, number, repository } = &parcel.job;
    let CommitEvent { before, after, .. } = &parcel.event;
    let diff_hint = before.map(|before| format!("All of it: hierad diff --full {before} {after}\n"));
    let (diff_hint, repository) = (diff_hint.unwrap_or_default(), visible(repository.as_str()));
    let whole = whole.map(|whole| format!("In JSON: {}\n", visible(&whole))).unwrap_or_default();
    // The text below `-- ` is a signature, not part of the message.
    format!("{text}\n-- \n{diff_hint}{whole}Report {number}, {id}, of {repository}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{JobId, JobNumber};
    use crate::git::{BranchName, CommitId};

    fn parcel() -> Parcel {
        Parcel {
            job: JobName {
                id: JobId::new("00112233445566778899aabbccddeeff"),
                number: JobNumber(7),
                repository: "control".into(),
            },
            event: CommitEvent::new(
                BranchName::new("production"),
                CommitId::from_hex(&"a".repeat(40)),
                CommitId::from_hex(&"b".repeat(40)).unwrap(),
                EventKind::New,
            ),
            report: b"{}\n".as_slice().into(),
            text: Some("2 keys change on both nodes\nbefore a\n".into()),
        }
    }

    fn mail() -> Mail {
        let server = MailServer::parse("smtp://localhost").unwrap();
        let (from, to) = (mailbox("hierad <hierad@example.com>").unwrap(), vec![mailbox("ops@example.com").unwrap()]);
        let (credentials, authorities, whole) = (None, None, Arc::default());
        let limit = Duration::from_secs(1);
        Mail::new(MailOptions { server, credentials, authorities, from, to, limit, whole }).unwrap()
    }

    #[test]
    fn no_line_of_a_report_ends_a_mail() {
        let mut parcel = parcel();
        parcel.text = Some("one\n.\nRCPT TO:<x@example.com>\n.\n".into());
        let formatted = mail().message(&parcel).unwrap().formatted();
        let is_bare = |at: usize| formatted[at] == b'\n' && (at == 0 || formatted[at - 1] != b'\r');
        assert!(!(0..formatted.len()).any(is_bare), "{}", String::from_utf8_lossy(&formatted));
        let returns = formatted.windows(2).filter(|pair| pair[0] == b'\r' && pair[1] != b'\n').count();
        assert_eq!(returns, 0);
    }

    #[test]
    fn subjects_have_repository_branch_and_headline() {
        let subject_of = |change: &dyn Fn(&mut Parcel)| {
            let mut parcel = parcel();
            change(&mut parcel);
            subject(&parcel)
        };
        assert_eq!(subject_of(&|_| {}), "[control] production: 2 keys change on both nodes");
        assert_eq!(
            subject_of(&|parcel| {
                parcel.event.kind = EventKind::Rewritten;
                parcel.job.repository = "hiera".into();
                parcel.text = None;
            }),
            "[hiera] production (rewritten): bbbbbbbb"
        );
        // The policies at the end of a long headline are kept.
        let long = format!("{} on all nodes; policy mac fails\n", "x".repeat(300));
        let cut = subject_of(&|parcel| parcel.text = Some(long.as_str().into()));
        assert!(cut.contains("xx…xx") && cut.ends_with(" on all nodes; policy mac fails"), "{cut}");
        assert_eq!(cut.chars().count(), "[control] production: ".len() + MAX_VERDICT);
    }

    #[test]
    fn branch_names_cannot_inject_headers() {
        let mut hostile = parcel();
        hostile.event.branch = BranchName::new("x\r\nBcc: all@example.com\r\n\r\nfake body");
        let message = mail().message(&hostile).unwrap().formatted();
        let message = String::from_utf8(message).unwrap();
        let (head, body) = message.split_once("\r\n\r\n").unwrap();
        assert!(!head.contains("\nBcc"), "{head}");
        assert!(body.starts_with("2 keys change"), "{body}");
        assert_eq!(mail().message(&parcel()).unwrap().envelope().to().len(), 1);
    }

    #[test]
    fn server_addresses_are_parsed() {
        let read = |text: &str| MailServer::parse(text).map(|server| (server.host, server.port, server.tls));
        assert_eq!(read("smtps://mail.example.com").unwrap(), ("mail.example.com".into(), 465, MailTls::Implicit));
        assert_eq!(read("smtp://mail.example.com:587/").unwrap(), ("mail.example.com".into(), 587, MailTls::Required));
        assert_eq!(read("smtp://localhost").unwrap(), ("localhost".into(), 25, MailTls::None));
        assert_eq!(read("smtp://127.0.0.1:2525").unwrap(), ("127.0.0.1".into(), 2525, MailTls::None));
        assert_eq!(read("smtp://[::1]").unwrap(), ("::1".into(), 25, MailTls::None));
        for wrong in
            ["mail.example.com", "http://mail", "smtp://", "smtp://mail/path", "smtp://mail?tls=none", "mail:25"]
        {
            assert!(matches!(read(wrong), Err(MailError::Server { .. })), "{wrong}");
        }
        let error = read("smtps://ann:s3cret@mail").unwrap_err().to_string();
        assert!(error.contains("password_file") && !error.contains("s3cret"), "{error}");
    }
}
