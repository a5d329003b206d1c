//! Data that is in no commit: a deployment lays it into the datadir, or links lead to where it makes it.

use serde_json::{Value as Json, json};

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A hierarchy with levels for data that is private, after the levels of each site below.
const PRIVATE: &str = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Node, paths: ['private/nodes/%{trusted.certname}.yaml', 'nodes/%{trusted.certname}.yaml']}
  - {name: Role, paths: ['private/roles/%{role}.yaml', 'roles/%{role}.yaml']}
  - {name: Common, paths: [private/common.yaml, common.yaml]}
-- data/nodes/web01.yaml
port: 81
";

/// A site with these files, whose last commit changes a value.
fn site(files: &str, links: &[(&str, &str)]) -> Sandbox {
    let site = Sandbox::of(&format!("{SITE}{PRIVATE}{files}"));
    for (link, to) in links {
        std::os::unix::fs::symlink(to, site.root().join(link)).unwrap();
    }
    site.commit("private data");
    greet(&site);
    site
}

fn greet(site: &Sandbox) {
    site.files("-- data/common.yaml\nmotd: welcome\nntp: [a, b]\n");
    site.commit("a greeting");
}

fn spots(site: &Sandbox) -> Vec<Json> {
    site.hierad("diff --format json").json()["blind_spots"].as_array().unwrap().clone()
}

/// Returns the messages of the blind spots that are there with or without the commit, and those of the others.
fn told(site: &Sandbox) -> [Vec<String>; 2] {
    let spots = spots(site);
    let (standing, others): (Vec<&Json>, Vec<&Json>) = spots.iter().partition(|spot| spot["standing"] == true);
    [standing, others].map(|spots| spots.iter().map(|spot| spot["message"].as_str().unwrap().to_owned()).collect())
}

/// No blind spots.
const NONE: [Vec<String>; 2] = [Vec::new(), Vec::new()];

const ALL: &str = "3 levels ('Node', 'Role', 'Common') are taken as absent on all 2 nodes";

#[test]
fn a_folder_that_git_ignores_is_one_standing_blind_spot() {
    for (file, line, place) in [
        (".gitignore", "/data/private/", "data/private"),
        (".gitignore", "data/private", "data/private"),
        (".gitignore", "private/", "data/private"),
        (".gitignore", "*.log\n**/private\n", "data/private"),
        ("data/.gitignore", "private", "data/private"),
        (".gitignore", "# secrets\n*.key\n!x\n/data/priv*/ \n", "data/private"),
    ] {
        let site = site(&format!("-- {file}\n{line}\n"), &[]);
        assert_eq!(told(&site), [vec![format!("{place} is in no commit, as {file} says: {ALL}")], vec![]], "{line}");
        let accept = format!("accept: {{outside-repository: [\"{place}\"]}}");
        assert_eq!(spots(&site)[0]["remedy"]["yaml"], accept);
        let checked = site.hierad("check");
        assert!(checked.out.contains(&format!("warning: {place} is in no commit")), "{}", checked.out);
        site.settings(format!("profiles: [profiles]\n{accept}\n"));
        site.hierad("check").is(0);
        greet(&site);
    }
    // A part of them.
    let site = site("-- .gitignore\n/data/private/nodes/\n**/private/common.yaml\n", &[]);
    let [standing, _] = told(&site);
    let expected = ["data/private/common.yaml is in no commit", "data/private/nodes is in no commit"];
    assert!(standing.iter().zip(expected).all(|(told, expected)| told.starts_with(expected)), "{standing:?}");
    assert_eq!(standing.len(), 2);
}

/// The same hierarchy for Hiera 3.
const PRIVATE3: &str = "-- hiera.yaml
:hierarchy: ['private/nodes/%{trusted.certname}', 'nodes/%{trusted.certname}', 'private/roles/%{role}', 'roles/%{role}', private/common, common]
:yaml:
  :datadir: data
-- hierad.yaml
profiles: [profiles]
hiera: 3
";

#[test]
fn hiera_3_has_data_that_git_ignores_as_well() {
    for (line, places) in [
        ("/data/private/", &["data/private"][..]),
        ("private", &["data/private"]),
        ("/data/private/nodes/", &["data/private/nodes"]),
        ("data/private/common.yaml", &["data/private/common.yaml"]),
        ("**/private/nodes/\ndata/private/common.yaml", &["data/private/common.yaml", "data/private/nodes"]),
        ("/private/\n*.json\ndata/private/common.eyaml", &[]),
        ("/data/private/\n!/data/private/", &[]),
    ] {
        let site = site(&format!("{PRIVATE3}-- .gitignore\n{line}\n"), &[]);
        let expected: Vec<String> =
            places.iter().map(|place| format!("{place} is in no commit, as .gitignore says on all 2 nodes")).collect();
        assert_eq!(told(&site), [expected, Vec::new()], "{line}");
        let checked = site.hierad("check");
        assert_eq!(checked.out.matches(" is in no commit").count(), places.len(), "{}", checked.out);
        let overlays: Vec<String> = places.iter().map(|place| format!("  {place}: none\n")).collect();
        let overlays = overlays.concat();
        site.write(".git/hierad.yaml", format!("datadirs:\n{overlays}  /none: none\n"));
        assert_eq!(told(&site), NONE, "{line}");
    }
    // What the commit brings is none that stands.
    let site = site(PRIVATE3, &[]);
    site.write(".gitignore", "private\n");
    site.commit("private data");
    let [standing, others] = told(&site);
    assert_eq!((standing.len(), others.len()), (0, 1), "{others:?}");
    let printed = site.hierad("diff --exit-code");
    assert_eq!(printed.status, 3);
    assert!(
        printed.out.starts_with("no change seen, but: data/private is in no commit, as .gitignore says"),
        "{printed:#?}"
    );
}

#[test]
fn a_folder_that_is_laid_over_another_hides_it() {
    for hiera3 in ["", PRIVATE3] {
        let data = "-- data/private/common.yaml\nmotd: of the tree\n-- data/private/nodes/web01.yaml\nport: 1\n";
        let site = site(&format!("{hiera3}{data}"), &[]);
        let outside = site.root().parent().unwrap().join("outside");
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("common.yaml"), "motd: of the machine\n").unwrap();
        site.write(".git/hierad.yaml", format!("datadirs: {{data/private: {}}}\n", outside.display()));
        assert_eq!(site.hierad("lookup motd --node web01").ok(), "--- of the machine\n");
        assert_eq!(site.hierad("lookup port --node web01").ok(), "--- 81\n");
        // A commit of what is hidden is not called harmless.
        site.write("data/private/nodes/web01.yaml", "port: 2\n");
        site.commit("hidden");
        let printed = site.hierad("diff --exit-code");
        assert!(printed.status == 3 && printed.out.contains("data/private/nodes/web01.yaml"), "{printed:#?}");
    }
}

#[test]
fn what_git_does_not_ignore_or_has_all_the_same_is_none() {
    for files in [
        "",
        "-- .gitignore\n/private/\nprivate/*.key\n",
        "-- .gitignore\nprivate\n!/data/private\n",
        "-- .gitignore\n# private\n\n/\n[\n",
        "-- modules/x/.gitignore\nprivate\n",
    ] {
        assert_eq!(told(&site(files, &[])), NONE, "{files}");
    }
    let added = site("-- .gitignore\ndata/private/\n-- data/private/common.yaml\na: 1\n", &[]);
    added.git(["add", "--force", "data/private/common.yaml"]);
    added.commit("with force");
    greet(&added);
    added.files("-- data/common.yaml\nmotd: bye\nntp: [a, b]\n");
    added.commit("another greeting");
    assert_eq!(told(&added), NONE);
}

#[test]
fn a_link_to_nothing_in_the_repository_is_one_standing_blind_spot() {
    for (link, to, leads) in [
        ("data/private", "../.modules/private/data", ".modules/private/data"),
        ("data/private", "../modules/private/data", "modules/private/data"),
        ("data/private", "elsewhere/./deep", "data/elsewhere/deep"),
        ("data/private", "../vendor/../gone", "vendor/../gone"),
    ] {
        let site = site("", &[(link, to)]);
        let expected = format!("{link} is a symbolic link to {leads}, which is not in the repository: {ALL}");
        assert_eq!(told(&site), [vec![expected], vec![]], "{to}");
        site.hierad("diff --exit-code HEAD HEAD").is(0);
        let map = format!("datadirs: {{{link}: none}}");
        site.write(".git/hierad.yaml", format!("{map}\n"));
        assert_eq!(told(&site), NONE, "{map}");
    }
    // Of a chain the first, and a link to a file.
    let chain = site("", &[("data/private", "other"), ("data/other", "gone")]);
    assert!(
        told(&chain)[0][0].starts_with("data/private is a symbolic link to data/gone, which"),
        "{:?}",
        told(&chain)
    );
    let file = site("-- data/private/x.yaml\na: 1\n", &[("data/private/common.yaml", "gone.yaml")]);
    let level = "1 level ('Common') is taken as absent on all 2 nodes";
    let expected = format!(
        "data/private/common.yaml is a symbolic link to data/private/gone.yaml, which is not in the repository: {level}"
    );
    assert_eq!(told(&file)[0], [expected]);
    // One that leads to something, and one that no level goes by.
    for links in [[("data/private", "roles")], [("data/other", "gone")]] {
        assert_eq!(told(&site("", &links)), NONE, "{links:?}");
    }
}

#[test]
fn a_commit_that_makes_a_link_to_nothing_is_not_called_harmless() {
    let site = Sandbox::of(&format!("{SITE}{PRIVATE}-- data/real/common.yaml\nmotd: private\n"));
    std::os::unix::fs::symlink("real", site.root().join("data/private")).unwrap();
    site.commit("a link");
    std::fs::remove_file(site.root().join("data/private")).unwrap();
    std::os::unix::fs::symlink("gone", site.root().join("data/private")).unwrap();
    site.commit("a link to nothing");
    let [standing, others] = told(&site);
    assert_eq!((standing.len(), others.len()), (0, 1));
}

#[test]
fn keys_that_no_file_has_may_be_in_a_level_without_files() {
    let refers = "-- data/roles/db.yaml\nport: 5432\npassword: \"x%{lookup('secret::db')}\"\n";
    let nodes = "-- data/private/nodes/web01.yaml\na: 1\n-- data/private/common.yaml\na: 1\n";
    let one = "1 key that data refer to is in no file here ('secret::db'): ";
    for (files, places) in [
        (refers.to_owned(), "'data/private', which has no files, may have it"),
        (format!("{refers}{nodes}"), "'data/private/roles', which has no files, may have it"),
        (
            format!("{}-- data/private/x.yaml\na: 1\n", refers.replace("lookup(", "alias(").replace("x%", "%")),
            "'data/private/common.yaml', 'data/private/nodes', 'data/private/roles', which have no files, may have it",
        ),
    ] {
        let site = site(&files, &[]);
        assert_eq!(told(&site), [vec![format!("{one}{places}")], vec![]], "{files}");
        assert_eq!(spots(&site)[0]["code"], json!("outside-repository"));
        let checked = site.hierad("check");
        assert!(checked.out.contains(&format!("note: {one}{places} [outside-repository]")), "{checked:#?}");
    }
    // The commit that refers to it.
    let site = site("", &[]);
    site.files(refers);
    site.commit("a password");
    assert_eq!(told(&site)[1].len(), 1);
    // All levels have files, or some file has the key.
    let roles = "-- data/private/roles/web.yaml\na: 1\n";
    let has = "-- data/private/roles/web.yaml\nsecret::db: 1\n";
    for files in [format!("{refers}{nodes}{roles}"), format!("{refers}{has}"), String::new()] {
        assert_eq!(told(&self::site(&files, &[])), NONE, "{files}");
    }
}

#[test]
fn data_of_this_machine_lie_over_the_repository() {
    let site = site("-- .gitignore\n/data/private/\n-- data/roles/db.yaml\npassword: \"x%{lookup('secret')}\"\n", &[]);
    let folder = site.beside("laid");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("common.yaml"), "secret: y\nmotd: private\n").unwrap();
    site.write(".git/hierad.yaml", format!("datadirs: {{data/private: {}}}\n", folder.display()));
    assert_eq!(site.hierad("lookup password --node db01").ok(), "--- xy\n");
    assert_eq!(site.hierad("lookup motd --node db01").ok(), "--- private\n");
    assert_eq!(told(&site), NONE);
    site.hierad("diff --exit-code").is(0);
}

/// A hierarchy whose datadir is that of a server.
fn of_server(datadirs: &str) -> Sandbox {
    let hiera = "-- hiera.yaml\nversion: 5\nhierarchy:\n  - name: All\n    datadir: '/etc/puppet/environments/%{environment}/hieradata'\n    paths: [private/org.yaml, 'generic/roles/%{role}.yaml', generic/common.yaml]\n";
    let site = Sandbox::of(&format!("{SITE}{hiera}"));
    site.write(".git/hierad.yaml", format!("datadirs:\n{datadirs}"));
    greet(&site);
    site
}

#[test]
fn of_a_datadir_that_is_mapped_in_part_the_rest_is_a_blind_spot() {
    let base = "/etc/puppet/environments/%{environment}/hieradata";
    let generic = format!("  \"{base}/generic\": data\n");
    let site = of_server(&generic);
    let rest = format!(
        "datadir {base}/private is outside of this repository: 1 level ('All') is taken as absent on all 2 nodes"
    );
    assert_eq!(told(&site), [vec![rest], vec![]]);
    assert_eq!(spots(&site)[0]["remedy"]["yaml"], format!("datadirs: {{\"{base}/private\": none}}"));
    assert_eq!(site.hierad("lookup port --node web01").ok(), "--- 80\n");
    // Of several entries the longest counts, in whatever order they are.
    for more in [
        format!("  \"{base}/private\": none\n"),
        format!("  \"{base}\": none\n"),
        "  /etc/puppet: none\n".to_owned(),
        format!("  \"{base}/\": none\n  \"{base}/generic/roles\": data/roles\n"),
    ] {
        for datadirs in [format!("{generic}{more}"), format!("{more}{generic}")] {
            let site = of_server(&datadirs);
            assert_eq!(told(&site), NONE, "{datadirs}");
            assert_eq!(site.hierad("lookup port --node web01").ok(), "--- 80\n", "{datadirs}");
        }
    }
}

#[test]
fn a_global_layer_whose_folder_this_machine_does_not_have_is_a_blind_spot() {
    let old = ":backends: [yaml]\n:yaml:\n  :datadir: DIR\n:hierarchy:\n  - private/org\n  - generic/common\n";
    let new = "version: 5\ndefaults: {datadir: DIR, data_hash: yaml_data}\nhierarchy: [{name: yaml, paths: [private/org.yaml, generic/common.yaml]}]\n";
    for config in [old, new] {
        let site = Sandbox::of(SITE);
        let datadir = site.beside("gone").join("hieradata");
        let (datadir, file) = (datadir.display(), site.beside("hiera.yaml"));
        std::fs::write(&file, config.replace("DIR", &datadir.to_string())).unwrap();
        let settings = |more: &str| format!("global_hiera_config: {}\ndatadirs: {{{more}}}\n", file.display());
        site.write(".git/hierad.yaml", settings(&format!("\"{datadir}/generic\": data")));
        greet(&site);
        let [standing, others] = told(&site);
        let expected = "/hieradata/private is outside of this repository: 1 level ('yaml') is taken as absent";
        assert!(standing.len() == 1 && standing[0].contains(expected), "{standing:?} {others:?}");
        // What is on the disk is read, whatever of it is there.
        std::fs::create_dir_all(site.beside("gone").join("hieradata/private")).unwrap();
        assert_eq!(told(&site), NONE);
    }
}

#[test]
fn many_links_in_a_folder_are_one_blind_spot() {
    let all: Vec<(String, String)> =
        (0..65).map(|n| (format!("data/nodes/n{n}.yaml"), format!("/srv/private/n{n}.yaml"))).collect();
    let profiles = (0..65).map(|n| format!("-- profiles/n{n}.yaml\n{{name: n{n}}}\n")).collect::<Vec<_>>().concat();
    for to in ["/srv/private", "../../.modules/private/nodes", "../private"] {
        let links: Vec<(&str, String)> =
            all.iter().map(|(link, target)| (&**link, target.replace("/srv/private", to))).collect();
        let links: Vec<(&str, &str)> = links.iter().map(|(link, to)| (*link, &**to)).collect();
        let many = site(&profiles, &links);
        let [standing, others] = told(&many);
        assert!(standing.len() == 1 && others.is_empty(), "{standing:?} {others:?}");
        let head = "data/nodes/ has 65 paths like this: data/nodes/n0.yaml is a symbolic link to ";
        let tail = ": 1 level ('Node') is taken as absent on 65 of 67 nodes";
        assert!(standing[0].starts_with(head) && standing[0].ends_with(tail), "{standing:?}");
        assert!(many.hierad("diff").ok().lines().count() < 20);
        // Few are told by themselves.
        assert_eq!(told(&site(&profiles, &links[..3]))[0].len(), 3);
    }
}
