//! The views of the page, at the server: `hierad serve` on a synthetic fleet of 10,000 nodes with 5,000 keys
//! (`HIERAD_BENCH_NODES`), from the request to the last byte, and the size of each.
//!
//! The report on a commit is asked for as JSON, too, in turn with the view of it. Each view is asked for once before,
//! which reads the revision; `HIERAD_BENCH_RUNS` is how often it is asked for then.
#![allow(missing_docs, reason = "a program")]

mod measure;
mod synthetic;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use measure::{Result, Spread, Times, Wanted, asked, print, runs};
use regex::Regex;
use synthetic::{Synthetic, shape};

/// The largest answer, in kB.
const MOST_KILOBYTES: f64 = 200.0;

fn main() -> Result<()> {
    let nodes = asked("HIERAD_BENCH_NODES", 10_000);
    let made = Synthetic::new(shape(nodes, 5_000, 100))?;
    let wanted = if nodes > 10_000 { 300.0 } else { 100.0 };
    let server = Server::start(&made)?;
    let (node, key, file) = (server.last("nodes", "")?, server.last("keys", "")?, server.last("files", "common")?);
    let other = server.last("nodes", "7")?;
    let views = [
        ("start", "/".to_owned()),
        ("nodes", "/nodes?search=9".to_owned()),
        ("keys", "/keys?search=9".to_owned()),
        ("a node", format!("/nodes/{node}")),
        ("a key on a node", format!("/nodes/{node}?key={key}")),
        ("a key on all nodes", format!("/keys/{key}")),
        ("a file", format!("/files/{file}")),
        ("commits", "/commits".to_owned()),
        ("a commit that changes a role", "/commits/role".to_owned()),
        ("a commit that changes all nodes", "/commits/common".to_owned()),
        ("a commit that removes a level", "/commits/hierarchy".to_owned()),
        ("two branches", "/diff?from=role&to=node".to_owned()),
        ("two nodes", format!("/compare?node={node}&node={other}")),
        ("what if", format!("/what-if?node={node}&set=role%3Drole1")),
        ("who changed a key", format!("/changes?key={key}")),
        ("search", "/search?search=web".to_owned()),
        ("check", "/check".to_owned()),
    ];
    for (what, path) in views {
        let name = |what: &str| format!("{}  {what}", made.subject.name);
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let kilobytes = server.get(&path)? as f64 / 1e3;
        let times = Times::of(runs(5), || server.get(&path).map(|_| ()))?;
        print(&name(what), &times.spread(), Some(Wanted::AtMost(wanted)));
        print(&name(&format!("{what}, size")), &Spread::new([kilobytes], "kB"), Some(Wanted::AtMost(MOST_KILOBYTES)));
    }
    let (mut page, mut json) =
        (|| server.get("/commits/role").map(|_| ()), || server.get("/v1/diff?to=role").map(|_| ()));
    let [page, json] = Times::of_each(runs(5), [&mut page, &mut json])?;
    print(&format!("{}  a commit, times as long as its JSON", made.subject.name), &page.over(&json), None);
    Ok(())
}

/// A running `hierad serve`, which ends when this does.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(made: &Synthetic) -> Result<Server> {
        let mut command = made.subject.hierad();
        let mut process = command.args(["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stderr.take().ok_or("no pipe")?).read_line(&mut line)?;
        let address = line.rsplit("http://").next().map(|address| address.trim().trim_end_matches('/').to_owned());
        Ok(Server { process, address: address.ok_or("no address")? })
    }

    /// Returns the size of an answer.
    fn get(&self, path: &str) -> Result<usize> {
        self.body(path).map(|body| body.len())
    }

    fn body(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
        if !head.starts_with("HTTP/1.1 200") {
            return Err(format!("{path}: {}", head.lines().next().unwrap_or_default()).into());
        }
        Ok(body.to_owned())
    }

    /// Returns the last name in a list, as it stands in an address.
    fn last(&self, list: &str, search: &str) -> Result<String> {
        let body = self.body(&format!("/{list}?search={search}"))?;
        let links = Regex::new(&format!("<li><a href=\"/{list}/([^\"]+)\""))?;
        links.captures_iter(&body).last().map(|found| found[1].to_owned()).ok_or_else(|| format!("no {list}").into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
