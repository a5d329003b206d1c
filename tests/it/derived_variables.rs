//! Variables of the top scope that are made of others: by a manifest, or by a match in the settings. Each form is
//! compared with Puppet in `tests/vectors/top_scope.json`.

use crate::support::Sandbox;

const HIERARCHY: &str = "-- hiera.yaml\nversion: 5\nhierarchy:\n  - {name: location, path: '%{::location}/common.yaml'}\n\
    \x20 - {name: common, path: common.yaml}\n-- data/osl/common.yaml\nv: osl\n-- data/web/common.yaml\nv: web\n\
    -- data/common.yaml\nv: common\n-- hierad.yaml\nprofiles: [profiles]\npuppet: 7\n\
    -- profiles/n.json\n{\"name\": \"osl-web-01.example.com\", \"facts\": {\"kernel\": \"Linux\", \"site\": \"osl\"}}\n";

fn site(files: &str) -> Sandbox {
    let site = Sandbox::new();
    site.files(&format!("{HIERARCHY}{files}"));
    site.commit("one");
    site
}

fn value(site: &Sandbox) -> String {
    site.hierad("lookup v --node osl-web-01.example.com").ok().trim_start_matches("--- ").trim_end().to_owned()
}

#[test]
fn levels_of_variables_that_manifests_make_are_read() {
    for (files, expected) in [
        ("-- manifests/site.pp\n$location = split($trusted['certname'], '-')[0]\n", "osl"),
        ("-- manifests/site.pp\n$location = $trusted['certname'].split('-')[1]\n", "web"),
        ("-- manifests/site.pp\nFile { backup => false }\n$location = $::site\nnode default { include base }\n", "osl"),
        ("-- manifests/site.pp\n$place = \"${facts['site']}\"\n$location = \"$place\"\n", "osl"),
        ("-- manifests/site.pp\n$location = regsubst($trusted['certname'], '^(\\w+)-(\\w+)-.*$', '\\2')\n", "web"),
        ("-- manifests/site.pp\n$location = {'Linux' => 'osl'}[$kernel]\n", "osl"),
        ("-- manifests/a.pp\n$place = 'web'\n-- manifests/sub/b.pp\n$location = $place\n", "web"),
        ("-- manifests/site.pp\n$location = 'osl'\nclass x { $location = 'web' }\n", "osl"),
        (
            "-- environment.conf\nmanifest = site.pp\n-- site.pp\n$location = 'web'\n-- manifests/site.pp\n$location = 'osl'\n",
            "web",
        ),
        ("-- manifests/site.pp\n$location = 'osl'\n$role = lookup('role')\n", "osl"),
    ] {
        let site = site(files);
        assert_eq!(value(&site), expected, "{files}");
        let rendered = site.hierad("render --format ndjson --output -");
        assert!(rendered.ok().contains(&format!("\"v\":\"{expected}\"")), "{files}: {}", rendered.out);
        let check = site.hierad("check").out;
        assert!(!check.contains("location"), "{files}: {check}");
    }
}

#[test]
fn variables_that_are_not_always_set_so_stay_unknown() {
    for files in [
        "-- manifests/site.pp\n$location = place($trusted['certname'])\n",
        "-- manifests/site.pp\nif $kernel == 'Linux' { $location = 'osl' }\n",
        "-- manifests/site.pp\nnode default { $location = 'osl' }\n",
        "-- manifests/site.pp\n$location = 'osl'\nnode default { $location = 'web' }\n",
        "-- manifests/site.pp\n$location = $nothing\n",
        "-- manifests/site.pp\n$location = $facts['nothing']['site']\n",
        // The class is evaluated, and its parameters are looked up, before the variable is set.
        "-- manifests/site.pp\ninclude base\n$location = 'osl'\n",
        "-- manifests/site.pp\n$role = lookup('role')\n$location = 'osl'\n",
        "-- manifests/a.pp\nnotify { lookup('x'): }\n-- manifests/site.pp\n$location = 'osl'\n",
        "-- manifests/site.pp\n[$location, $host] = split($trusted['certname'], '-')\n",
        "-- manifests/site.pp\n$location = $kernel ? { 'Linux' => 'osl', default => 'web' }\n",
        "-- environment.conf\nmanifest = /etc/puppetlabs/site.pp\n-- manifests/site.pp\n$location = 'osl'\n",
        "-- hierad.yaml\nprofiles: [profiles]\npuppet: 7\nmanifests: false\n-- manifests/site.pp\n$location = 'osl'\n",
        "-- modules/x/manifests/init.pp\n$location = 'osl'\n",
    ] {
        let site = site(files);
        let check = site.hierad("check").out;
        assert!(check.contains("the variable '::location' is undefined"), "{files}: {check}");
        assert_eq!(value(&site), "common", "{files}");
    }
}

#[test]
fn each_side_has_the_variables_of_its_own_manifest() {
    let site = site("-- manifests/site.pp\n$location = split($trusted['certname'], '-')[0]\n");
    site.files("-- manifests/site.pp\n$location = split($trusted['certname'], '-')[1]\n");
    site.commit("two");
    assert!(site.hierad("diff").out.contains("changed  v: \"osl\" -> \"web\""), "{}", site.hierad("diff").out);
    site.files("-- manifests/site.pp\n# The same.\n$location = $trusted['certname'].split(/-/)[1]\n");
    site.commit("three");
    assert!(site.hierad("diff").out.contains("no effective change"), "{}", site.hierad("diff").out);
    site.files("-- manifests/site.pp\n");
    site.commit("four");
    assert!(site.hierad("diff").out.contains("changed  v: \"web\" -> \"common\""), "{}", site.hierad("diff").out);
    site.files("-- data/osl/common.yaml\nv: new\n");
    site.commit("five");
    let said = site.hierad("diff").out;
    assert!(said.contains("lacks the variable 'location'"), "{said}");
}

#[test]
fn a_changed_manifest_that_sets_a_variable_of_levels_otherwise_is_told() {
    for (before, after) in [
        ("$location = place('a')", "$location = place('b')"),
        ("if $kernel == 'Linux' { $location = 'osl' }", "if $kernel == 'Linux' { $location = 'web' }"),
        ("$role = 1", "case $kernel { 'Linux': { $location = 'web' } }"),
        ("node default { $location = 'osl' }", "node default { $location = 'web' }"),
        ("$location = $x ? { default => 'osl' }", "$other = 1"),
    ] {
        let site = site(&format!("-- manifests/site.pp\n{before}\n"));
        site.files(&format!("-- manifests/site.pp\n{after}\n"));
        site.commit("two");
        let said = site.hierad("diff --exit-code").out;
        assert!(said.contains("no change seen, but: the node lacks the variable 'location'"), "{after}: {said}");
    }
    for (before, after) in
        [("$role = place('a')", "$role = place('b')"), ("$role = 1", "class location { $location = 1 }")]
    {
        let site = site(&format!("-- manifests/site.pp\n{before}\n"));
        site.files(&format!("-- manifests/site.pp\n{after}\n"));
        site.commit("two");
        let said = site.hierad("diff --exit-code").out;
        assert!(said.contains("no effective change"), "{after}: {said}");
    }
}

#[test]
fn what_a_profile_or_a_setting_says_wins() {
    let given = "-- manifests/site.pp\n$location = 'osl'\n";
    let site = site(given);
    assert_eq!(site.hierad("lookup v --node osl-web-01.example.com --set location=web").ok(), "--- web\n");
    for (variable, expected) in [
        ("{from: trusted.certname, match: '-([^-]+)-'}", "web"),
        ("{from: '::site', match: '^...'}", "osl"),
        ("{from: location, match: '.'}", "common"),
        ("\"%{lookup('absent')}web\"", "web"),
    ] {
        let settings =
            format!("-- hierad.yaml\nprofiles: [profiles]\npuppet: 7\nvariables: {{location: {variable}}}\n");
        let site = self::site(&format!("{given}{settings}"));
        assert_eq!(value(&site), expected, "{variable}");
    }
    // A match that fails sets nothing, which is told.
    let settings =
        "-- hierad.yaml\nprofiles: [profiles]\npuppet: 7\nvariables: {location: {from: facts.site, match: '(\\d+)'}}\n";
    let site = self::site(settings);
    assert!(site.hierad("check").out.contains("the variable '::location' is undefined"));
    assert!(site.hierad("nodes facts").out.contains("all"), "{}", site.hierad("nodes facts").out);
}

#[test]
fn manifests_are_found_where_puppet_finds_them() {
    let shared = "-- shared/site.pp\n$location = 'osl'\n";
    let environment = "mkdir env; git mv hiera.yaml data env; echo 'hiera_config: env/hiera.yaml' >>hierad.yaml; ";
    for (script, file) in [
        ("ln -s shared manifests", "shared/site.pp"),
        ("ln -s shared/site.pp site.pp; echo 'manifest = site.pp' >environment.conf", "shared/site.pp"),
        ("mkdir manifests; ln -s ../shared/site.pp manifests/site.pp", "shared/site.pp"),
        (
            "mkdir manifests; ln -s ../shared/site.txt manifests/a.pp; git mv shared/site.pp shared/site.txt",
            "shared/site.txt",
        ),
        ("echo 'manifest = x/../shared' >environment.conf; mkdir x; touch x/y", "shared/site.pp"),
        (&format!("{environment}echo 'manifest = ../shared' >env/environment.conf"), "shared/site.pp"),
        (&format!("{environment}ln -s ../shared env/manifests"), "shared/site.pp"),
    ] {
        let site = site(shared);
        site.sh(script);
        site.commit("layout");
        assert_eq!(value(&site), "osl", "{script}");
        site.files(&format!("-- {file}\n$location = 'web'\n"));
        site.commit("a manifest");
        let printed = site.hierad("diff --exit-code");
        assert!(printed.is(2).out.contains("v: \"osl\" -> \"web\""), "{script}: {printed:#?}");
        site.files(&format!("-- {file}\n# The same.\n$location = 'web'\n"));
        site.commit("a remark");
        site.hierad("diff --exit-code").is(0);
    }
    // A link to a folder in that of manifests is not followed.
    let site = site(shared);
    site.sh("mkdir manifests; ln -s ../shared manifests/inner");
    site.commit("a link");
    assert_eq!(value(&site), "common");
}

#[test]
fn a_change_of_manifests_that_are_not_read_is_told() {
    let large = "head -c 1100000 /dev/zero | tr '\\0' '#' >manifests/site.pp; ";
    for (before, after) in [
        ("ln -s /etc/puppet/one manifests", "ln -sfn /etc/puppet/two manifests"),
        ("mkdir manifests; ln -s /srv/a.pp manifests/a.pp", "ln -sfn /srv/b.pp manifests/a.pp"),
        ("echo 'manifest = /srv/a' >environment.conf", "echo 'manifest = /srv/b' >environment.conf"),
        ("echo 'manifest = $confdir/a' >environment.conf", "echo 'manifest = $confdir/b' >environment.conf"),
        ("echo 'manifest = ../a' >environment.conf", "echo 'manifest = ../b' >environment.conf"),
        ("true", "ln -s /srv/a manifests"),
        (&format!("mkdir manifests; {large}"), &format!("{large}echo >>manifests/site.pp")),
    ] {
        let site = site("");
        site.sh(before);
        site.commit("before");
        site.sh(after);
        site.commit("after");
        let printed = site.hierad("diff --exit-code");
        let said = "the node lacks the variable 'location'";
        assert!(printed.is(3).out.contains(said), "{after}: {printed:#?}");
        // Where they stay, nothing is said.
        site.sh("echo '# a remark' >>data/common.yaml");
        site.commit("data");
        site.hierad("diff --exit-code").is(0);
    }
}

#[test]
fn a_variable_that_no_data_reads_is_told() {
    let site = site("-- data/common.yaml\nv: \"%{facts.site}\"\n");
    let notice =
        |of: &str| format!("hierad: {of}: no data and no hierarchy reads this variable, so it changes nothing");
    for (set, is_read) in [
        ("facts.site=x", true),
        ("site=x", false), // a variable of this name does not change the fact
        ("facts.site.inner=x", true),
        ("location=x", true),
        ("facts.location=x", true),
        ("facts.sit=x", false),
        ("environment=x", false),
        ("trusted.extensions.pp_role=x", false),
    ] {
        for command in ["lookup v --node osl-web-01.example.com", "render --format ndjson --output -", "diff ."] {
            let said = site.hierad(&format!("{command} --set {set}"));
            assert_eq!(said.err.contains(&notice(set)), !is_read, "{command} {set}: {}", said.err);
        }
    }
    let said = site.hierad("render --format ndjson --output - --set sit=x").err;
    assert!(said.contains("; they read 'facts.site', 'location'"), "{said}");
}
