//! Servers for tests: they answer as they are told to, and hand over what they were sent.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A port of this machine where nobody listens.
pub(crate) fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A certificate for `localhost` that nobody vouches for but itself.
pub(crate) struct Certificate {
    pub(crate) pem: String,
    config: Arc<ServerConfig>,
}

impl Certificate {
    pub(crate) fn new() -> Certificate {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
        Certificate { pem: made.cert.pem(), config: Arc::new(config) }
    }

    fn wrap(&self, stream: TcpStream) -> Box<dyn Stream> {
        Box::new(StreamOwned::new(ServerConnection::new(self.config.clone()).unwrap(), stream))
    }
}

trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// Accepts connections for as long as the test lives, each in a thread of its own.
fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream.unwrap()));
        }
    });
    port
}

/// Longer than any test waits.
fn hang() {
    std::thread::sleep(Duration::from_mins(10));
}

/// A request to an HTTP server.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    /// By their names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// An HTTP server's answer to a request.
pub(crate) enum Answer {
    /// Sends this status line, and this behind the head.
    Say(&'static str, String),
    /// Sends this status, these headers, each with an end of line, and this behind them.
    Full(u16, String, String),
    /// Sends this and nothing more, and keeps the connection.
    Hang(&'static str),
    /// Sends this status line, and words without an end.
    Endless(&'static str),
    /// Closes the connection.
    Close,
}

impl Answer {
    pub(crate) fn ok() -> Answer {
        Answer::Say("200 OK", String::new())
    }
}

/// An HTTP server.
pub(crate) struct Http {
    pub(crate) port: u16,
    pub(crate) requests: Receiver<Request>,
}

impl Http {
    pub(crate) fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Http {
        Http::with(None, answer)
    }

    pub(crate) fn with(
        certificate: Option<Arc<Certificate>>,
        answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Http {
        let (sender, requests) = channel();
        let port = listen(move |stream| {
            let stream: Box<dyn Stream> = match &certificate {
                Some(certificate) => certificate.wrap(stream),
                None => Box::new(stream),
            };
            // A client that breaks off is no fault of the server.
            _ = http(stream, &answer, &sender);
        });
        Http { port, requests }
    }
}

fn http(stream: Box<dyn Stream>, answer: &dyn Fn(&Request) -> Answer, sender: &Sender<Request>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let Some(line) = head.first().cloned() else { return Ok(()) };
    let pair = |line: &String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers: HashMap<_, _> = head.iter().skip(1).filter_map(pair).collect();
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body)?;
    let request = Request { line, headers, body };
    let answer = answer(&request);
    _ = sender.send(request);
    let out = stream.get_mut();
    match answer {
        Answer::Say(status, words) => {
            let length = words.len();
            write!(out, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{words}")?;
            out.flush()
        }
        Answer::Full(status, headers, words) => {
            let length = words.len();
            write!(
                out,
                "HTTP/1.1 {status} so\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{words}"
            )?;
            out.flush()
        }
        Answer::Hang(words) => {
            out.write_all(words.as_bytes())?;
            out.flush()?;
            hang();
            Ok(())
        }
        Answer::Endless(status) => {
            write!(out, "HTTP/1.1 {status}\r\n\r\n")?;
            loop {
                out.write_all(&[b'x'; 1 << 14])?;
            }
        }
        Answer::Close => Ok(()),
    }
}

/// A letter to a mail server.
#[derive(Debug, Default)]
pub(crate) struct Letter {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    /// With line ends as they came, the dots that protect lines removed.
    pub(crate) content: String,
    pub(crate) is_protected: bool,
    /// The argument of `AUTH`.
    pub(crate) auth: Option<String>,
}

impl Letter {
    /// The head and, decoded, the body.
    pub(crate) fn parts(&self) -> (String, String) {
        let (head, body) = self.content.split_once("\r\n\r\n").unwrap();
        let body = if head.contains("Content-Transfer-Encoding: quoted-printable") {
            quoted_printable(body)
        } else if head.contains("Content-Transfer-Encoding: base64") {
            use base64::Engine;
            let digits = body.replace("\r\n", "");
            String::from_utf8(base64::engine::general_purpose::STANDARD.decode(digits).unwrap()).unwrap()
        } else {
            body.to_owned()
        };
        (head.replace("\r\n ", " "), body.replace("\r\n", "\n"))
    }
}

fn quoted_printable(text: &str) -> String {
    let text = text.replace("=\r\n", "");
    let mut bytes = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('=') {
        bytes.extend(before.as_bytes());
        bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
        rest = &after[2..];
    }
    bytes.extend(rest.as_bytes());
    String::from_utf8(bytes).unwrap()
}

/// A fault of a mail server.
#[derive(Clone, Copy)]
pub(crate) enum Mood {
    Say(&'static str),
    Hang,
    Close,
}

/// A mail server.
#[derive(Default)]
pub(crate) struct Smtp {
    /// TLS from the beginning.
    pub(crate) implicit: Option<Arc<Certificate>>,
    /// TLS by STARTTLS.
    pub(crate) starttls: Option<Arc<Certificate>>,
    /// Its fault at a line that begins so. `GREETING` stands for the connection, `CONTENT` for the end of a letter.
    pub(crate) moods: Vec<(&'static str, Mood)>,
}

/// A mail server at work.
pub(crate) struct RunningSmtp {
    pub(crate) port: u16,
    pub(crate) letters: Receiver<Letter>,
}

impl Smtp {
    pub(crate) fn start(self) -> RunningSmtp {
        let (sender, letters) = channel();
        let port = listen(move |stream| {
            _ = self.serve(stream, &sender);
        });
        RunningSmtp { port, letters }
    }

    fn serve(&self, stream: TcpStream, letters: &Sender<Letter>) -> std::io::Result<()> {
        let plain = stream.try_clone()?;
        let first: Box<dyn Stream> = match &self.implicit {
            Some(certificate) => certificate.wrap(stream),
            None => Box::new(stream),
        };
        let mut stream = BufReader::new(first);
        let mut letter = Letter { is_protected: self.implicit.is_some(), ..Letter::default() };
        if !self.answer("GREETING", "220 test ESMTP", stream.get_mut())? {
            return Ok(());
        }
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            let word = line.split([' ', ':']).next().unwrap();
            let normal = match word {
                "EHLO" => {
                    let offer = if self.starttls.is_some() && !letter.is_protected { "250-STARTTLS\r\n" } else { "" };
                    format!("250-test\r\n{offer}250-8BITMIME\r\n250 AUTH PLAIN LOGIN")
                }
                "STARTTLS" => "220 go on".to_owned(),
                "DATA" => "354 go on".to_owned(),
                "QUIT" => "221 goodbye".to_owned(),
                _ => "250 fine".to_owned(),
            };
            match word {
                "AUTH" => letter.auth = Some(line.to_owned()),
                "MAIL" => line.clone_into(&mut letter.from),
                "RCPT" => letter.to.push(line.to_owned()),
                _ => {}
            }
            let normal = if word == "AUTH" { "235 welcome".to_owned() } else { normal };
            if !self.answer(line, &normal, stream.get_mut())? || word == "QUIT" {
                return Ok(());
            }
            if word == "STARTTLS" {
                let certificate = self.starttls.as_ref().unwrap();
                stream = BufReader::new(certificate.wrap(plain.try_clone()?));
                letter = Letter { is_protected: true, ..Letter::default() };
            }
            if word == "DATA" && self.mood("DATA").is_none() {
                letter.content = content(&mut stream)?;
                if !self.answer("CONTENT", "250 taken", stream.get_mut())? {
                    return Ok(());
                }
                _ = letters.send(std::mem::take(&mut letter));
            }
        }
    }

    fn mood(&self, line: &str) -> Option<Mood> {
        self.moods.iter().find(|(start, _)| line.starts_with(start)).map(|(_, mood)| *mood)
    }

    /// Answers, or does what it should not; whether it goes on.
    fn answer(&self, line: &str, normal: &str, out: &mut dyn Stream) -> std::io::Result<bool> {
        let words = match self.mood(line) {
            Some(Mood::Close) => return Ok(false),
            Some(Mood::Hang) => {
                hang();
                return Ok(false);
            }
            Some(Mood::Say(words)) => words,
            None => normal,
        };
        write!(out, "{words}\r\n")?;
        out.flush()?;
        Ok(true)
    }
}

/// A letter up to the line with its dot.
fn content(stream: &mut impl BufRead) -> std::io::Result<String> {
    let mut content = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line == ".\r\n" {
            return Ok(content);
        }
        content += line.strip_prefix('.').unwrap_or(&line);
    }
}
