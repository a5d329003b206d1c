//! All that was made, and all that came of it at each receiver. Nothing in it is known from the daemon.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

/// The receivers of reports.
pub(super) const RECEIVERS: [&str; 4] = ["files", "web", "told", "http"];

/// A commit that has come to a branch.
pub(super) struct Made {
    pub(super) commit: String,
    /// The value that it gives to the key `number`.
    pub(super) number: u64,
    /// The commit that the branch had before, and its value.
    pub(super) before: (String, u64),
    /// The id and the number of its report.
    job: Option<(String, i64)>,
}

impl Made {
    pub(super) fn new(commit: String, number: u64, before: (String, u64)) -> Made {
        Made { commit, number, before, job: None }
    }
}

/// All that was made on a branch, in order.
#[derive(Default)]
pub(super) struct Branch {
    pub(super) made: Vec<Made>,
    places: HashMap<String, usize>,
    /// The number of commits that each receiver knows of.
    known: [usize; RECEIVERS.len()],
}

/// The name of a repository and of a branch.
pub(super) type Name = (String, String);

/// A report at a receiver.
pub(super) struct Arrival {
    pub(super) id: String,
    pub(super) number: i64,
    pub(super) branch: Name,
    pub(super) before: Option<String>,
    pub(super) after: String,
    /// The values of the key `number` before and after, where the receiver gets them.
    pub(super) values: Option<(u64, u64)>,
}

impl Arrival {
    /// Reads a report.
    pub(super) fn of(report: &Json) -> Arrival {
        let text = |value: &Json| value.as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
        let change = report["changes"].as_array().unwrap().iter().find(|change| change["key"] == "number").unwrap();
        let value = |side: &str| change[side]["value"].as_u64().unwrap();
        Arrival {
            id: text(&report["event"]["id"]),
            number: report["event"]["number"].as_i64().unwrap(),
            branch: (text(&report["event"]["repository"]), text(&report["branch"])),
            before: report["before"]["commit"].as_str().map(str::to_owned),
            after: text(&report["after"]["commit"]),
            values: Some((value("before"), value("after"))),
        }
    }

    /// Reads a row of the list of reports.
    pub(super) fn of_row(row: &Json) -> Arrival {
        let text = |name: &str| row[name].as_str().unwrap_or_else(|| panic!("{row}")).to_owned();
        Arrival {
            id: text("id"),
            number: row["number"].as_i64().unwrap(),
            branch: (text("repository"), text("branch")),
            before: row["before"].as_str().map(str::to_owned),
            after: text("after"),
            values: None,
        }
    }

    /// Reads a line of the command: the id, the number, the repository, the branch and the commits.
    pub(super) fn of_line(line: &str) -> Arrival {
        let words: Vec<&str> = line.split(' ').collect();
        let [id, number, repository, branch, before, after] = words[..] else { panic!("{line}") };
        Arrival {
            id: id.to_owned(),
            number: number.parse().unwrap(),
            branch: (repository.to_owned(), branch.to_owned()),
            before: Some(before.to_owned()),
            after: after.to_owned(),
            values: None,
        }
    }
}

/// The book of all branches.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) branches: BTreeMap<Name, Branch>,
    ids: HashMap<String, String>,
    numbers: HashMap<i64, String>,
    /// The reports that came to a receiver again, under the same id.
    pub(super) repeated: usize,
}

impl Ledger {
    /// Notes what must be reported.
    pub(super) fn expect(&mut self, branch: &Name, made: Made) {
        let of = self.branches.entry(branch.clone()).or_default();
        of.places.insert(made.commit.clone(), of.made.len());
        of.made.push(made);
    }

    /// Notes what was reported: what is expected next, or what the receiver knows.
    pub(super) fn arrived(&mut self, receiver: usize, arrival: Arrival) {
        let Arrival { id, number, branch, before, after, values } = arrival;
        let name = RECEIVERS[receiver];
        let about = format!("{name}: {branch:?} {after}, {id}, {number}");
        let of = self.branches.get_mut(&branch).unwrap_or_else(|| panic!("odd: {about}"));
        let place = *of.places.get(&after).unwrap_or_else(|| panic!("odd: {about}"));
        let known = of.known[receiver];
        assert!(place <= known, "out of order: {about} is {place}, and {known} is the next");
        if place == known {
            of.known[receiver] += 1;
        } else {
            self.repeated += 1;
        }
        let last = place.checked_sub(1).and_then(|last| of.made[last].job.as_ref()).map_or(0, |job| job.1);
        let made = &mut of.made[place];
        assert_eq!(before.as_ref(), Some(&made.before.0), "{about}");
        if let Some(values) = values {
            assert_eq!(values, (made.before.1, made.number), "{about}");
        }
        let job = made.job.get_or_insert_with(|| (id.clone(), number));
        assert_eq!(*job, (id.clone(), number), "a second id: {about}");
        assert!(number > last, "{about}: {last} was before");
        for owner in [self.ids.entry(id).or_insert_with(|| about.clone()), self.numbers.entry(number).or_insert(about)]
        {
            assert!(owner.contains(&after), "used twice: {owner} and {after}");
        }
    }

    /// Returns what a receiver lacks, but for the branches of some repositories.
    pub(super) fn missing(&self, receiver: usize, without: &[&str]) -> Vec<String> {
        let lacks = |(name, branch): (&Name, &Branch)| {
            let of = &branch.made[branch.known[receiver]..];
            of.first().map(|made| format!("{name:?}: {} from {} on", of.len(), made.commit))
        };
        let branches = self.branches.iter().filter(|((repository, _), _)| !without.contains(&repository.as_str()));
        branches.filter_map(lacks).collect()
    }

    /// Returns the commits of a branch from a place on.
    pub(super) fn commits(&self, branch: &Name, from: usize) -> Vec<&str> {
        self.branches.get(branch).map_or(&[][..], |branch| &branch.made[from..]).iter().map(|m| &*m.commit).collect()
    }

    /// Returns the place of a commit on a branch.
    pub(super) fn place(&self, branch: &Name, commit: &str) -> Option<usize> {
        self.branches.get(branch)?.places.get(commit).copied()
    }
}
