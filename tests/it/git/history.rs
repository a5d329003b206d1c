//! Parents, chains and merge bases, in whole and in shallow repositories.

use std::fmt::Write;

use hierad::git::{Chain, ChainEnd, CommitId, HistoryError, Repository};

use crate::support::{Sandbox, git_in};

/// Numbers that look random and are the same every time.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    }
}

/// A history of commits with up to three parents and clocks that go wrong, by one `git fast-import`.
fn tangled(sandbox: &Sandbox, seed: u64, count: usize) -> Vec<CommitId> {
    let mut number = numbers(seed);
    let mut script = String::new();
    for at in 1..=count {
        let time = 1_700_000_000 + at * 10 + number(4) * number(60);
        let parents: Vec<_> = (0..number(4)).map(|_| at.saturating_sub(1 + number(6))).filter(|p| *p > 0).collect();
        let length = at.to_string().len();
        writeln!(script, "reset refs/heads/c{at}\ncommit refs/heads/c{at}\nmark :{at}").unwrap();
        writeln!(script, "committer A <a@b> {time} +0000\ndata {length}\n{at}").unwrap();
        for (place, parent) in parents.iter().enumerate() {
            writeln!(script, "{} :{parent}", if place == 0 { "from" } else { "merge" }).unwrap();
        }
        script.push('\n');
    }
    std::fs::write(sandbox.beside("import"), script).unwrap();
    sandbox.sh("git fast-import --quiet --force < ../import");
    let tips = sandbox.git(["for-each-ref", "--sort=version:refname", "--format=%(objectname)", "refs/heads"]);
    tips.lines().map(|id| CommitId::from_hex(id).unwrap()).collect()
}

#[test]
fn merge_bases_and_ancestors_are_gits() {
    let sandbox = Sandbox::new();
    let commits = tangled(&sandbox, 7, 60);
    let repository = sandbox.open();
    let mut number = numbers(11);
    let pairs: Vec<_> = (0..150).map(|_| (commits[number(60)], commits[number(60)])).collect();
    let asked: String = pairs.iter().flat_map(|(a, b)| [a.to_string(), b.to_string()]).collect::<Vec<_>>().join(" ");
    let answers = sandbox.sh(&format!(
        "set -- {asked}
        while [ $# -gt 0 ]; do
            (git merge-base --is-ancestor $1 $2 && echo yes || echo no; git merge-base --all $1 $2) | tr '\\n' ' '
            echo; shift 2
        done"
    ));
    for ((a, b), answer) in pairs.into_iter().zip(answers.lines()) {
        let is_ancestor = repository.is_ancestor(a, b).unwrap();
        assert_eq!(is_ancestor, answer.starts_with("yes"), "{a} {b}");
        let base = repository.merge_base(a, b).unwrap();
        let bases: Vec<_> = answer.split(' ').skip(1).filter(|id| !id.is_empty()).collect();
        match base {
            Some(base) => assert!(bases.contains(&base.to_string().as_str()), "{a} {b}: {base} not in {bases:?}"),
            None => assert!(bases.is_empty(), "{a} {b}: {bases:?}"),
        }
    }
}

#[test]
fn chains_of_own_commits_are_gits() {
    for seed in [3, 5] {
        let sandbox = Sandbox::new();
        let commits = tangled(&sandbox, seed, 60);
        let repository = sandbox.open();
        let mut number = numbers(13);
        let cases: Vec<_> = (0..60)
            .map(|_| (commits[number(60)], (0..=number(3)).map(|_| commits[number(60)]).collect::<Vec<_>>()))
            .collect();
        let mut script = String::new();
        for (new, others) in &cases {
            let others = others.iter().map(CommitId::to_string).collect::<Vec<_>>().join(" ");
            writeln!(script, "git rev-list {others} > ../behind; git rev-list --first-parent {new} > ../chain")
                .unwrap();
            let until_shared = "FNR == NR {seen[$1]; next} $1 in seen {exit} {printf \"%s \", $1} END {print \"\"}";
            writeln!(script, "awk '{until_shared}' ../behind ../chain").unwrap();
        }
        for ((new, others), answer) in cases.into_iter().zip(sandbox.sh(&script).lines()) {
            let chain = repository.chain_excluding(new, &others).unwrap();
            let found: Vec<_> = chain.commits.iter().rev().map(CommitId::to_string).collect();
            assert_eq!(found.join(" "), answer.trim_end(), "{new} {others:?}");
        }
    }
}

#[test]
fn chains_follow_first_parents() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit("first");
    sandbox.git(["switch", "--quiet", "--create", "side"]);
    let side = sandbox.commit("side");
    sandbox.git(["switch", "--quiet", "main"]);
    let second = sandbox.commit("second");
    sandbox.git(["merge", "--quiet", "--no-ff", "--message", "merge", "side"]);
    let merge = sandbox.id("HEAD");
    let repository = sandbox.open();
    let chain = |old, limit| repository.commits_between(old, merge, limit).unwrap();
    assert_eq!(chain(Some(first), 9), Chain { commits: vec![second, merge], end: ChainEnd::Reached(first) });
    assert_eq!(chain(Some(merge), 9), Chain { commits: vec![], end: ChainEnd::Reached(merge) });
    assert_eq!(chain(Some(side), 9), Chain { commits: vec![first, second, merge], end: ChainEnd::Root });
    assert_eq!(chain(None, 1), Chain { commits: vec![merge], end: ChainEnd::Limit(second) });
    assert_eq!(repository.parents(merge).unwrap().present, [second, side]);
    assert_eq!(repository.first_parent(merge), Ok(Some(second)));
    assert_eq!(repository.first_parent(first), Ok(None));
    assert_eq!(repository.merge_base(second, side), Ok(Some(first)));
    let info = repository.commit(merge).unwrap();
    assert_eq!((info.summary.as_str(), info.author.as_str()), ("merge", "Ada <ada@example.com>"));
    assert_eq!(info.time.to_string(), "2023-11-14T23:13:20+01:00");
}

#[test]
fn shallow_clones_report_their_cut() {
    let sandbox = Sandbox::new();
    let root = sandbox.commit("0");
    sandbox.git(["branch", "old"]);
    let commits: Vec<_> = (1..5).map(|n| sandbox.commit(&n.to_string())).collect();
    for format in ["files", "reftable"] {
        let clone = sandbox.beside(format);
        let source = format!("file://{}", sandbox.root().display());
        let format = format!("--ref-format={format}");
        git_in(
            sandbox.root(),
            ["clone", "--quiet", "--no-single-branch", "--depth=2", &format, &source, clone.to_str().unwrap()],
        );
        let repository = Repository::discover(&clone).unwrap();
        assert!(repository.is_shallow() && !sandbox.open().is_shallow());
        let parents = repository.parents(commits[2]).unwrap();
        assert!(parents.cut && parents.present.is_empty());
        assert_eq!(repository.first_parent(commits[3]), Ok(Some(commits[2])));
        let cut = HistoryError::Cut { repository: clone.join(".git"), commit: commits[2] };
        assert_eq!(repository.first_parent(commits[2]), Err(cut.clone()));
        assert_eq!(repository.merge_base(commits[3], root), Err(cut.clone()));
        assert!(
            cut.to_string().ends_with("since the clone is shallow; `git fetch --unshallow` fetches the rest"),
            "{cut}"
        );
        let chain = repository.commits_between(Some(root), commits[3], 99).unwrap();
        assert_eq!(chain, Chain { commits: commits[2..].to_vec(), end: ChainEnd::Cut });
        assert_eq!(
            repository.resolve("HEAD~3").unwrap_err().to_string(),
            "unknown revision 'HEAD~3'; the clone is shallow: `git fetch --unshallow` fetches the rest of the history"
        );
        git_in(&clone, ["fetch", "--quiet", "--unshallow"]);
        assert_eq!(repository.first_parent(commits[2]), Ok(Some(commits[1])));
        assert_eq!(repository.merge_base(commits[3], root), Ok(Some(root)));
    }
}
