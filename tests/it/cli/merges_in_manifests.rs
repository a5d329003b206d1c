//! Commits that change what manifests find by a merge strategy of their own, and nothing of what the data alone give.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::extent::full_or;
use crate::support::terminal::SITE;

/// A value that is hidden by that of the node, unless both are merged.
const BEFORE: &str = "-- data/nodes/web01.yaml
list: [own]
users: {ada: 1}
-- data/common.yaml
motd: hello
ntp: [a, b]
list: [one]
users: {bob: 1}
";

/// Commits a change of the values that are hidden, in a site with a manifest, and returns the report.
fn report(manifest: &str, more: &str) -> Json {
    let site = Sandbox::of(&format!("{SITE}{BEFORE}-- manifests/site.pp\n{manifest}\n{more}"));
    let hidden = std::fs::read_to_string(site.root().join("data/common.yaml")).unwrap();
    let hidden = hidden.replace("[one]", "[two]").replace("{bob: 1}", "{bob: 2}");
    site.write("data/common.yaml", hidden);
    site.commit("second");
    // The other node has no values of its own: both are seen to change there.
    site.hierad("diff --format json").json()
}

fn spot(report: &Json) -> Option<&Json> {
    report["blind_spots"].as_array().unwrap().iter().find(|spot| spot["code"] == "merge-in-manifest")
}

/// The values of a key in a report, by the names of the nodes on which they change: before and after.
fn changes(report: &Json, key: &str) -> Vec<(String, Json, Json)> {
    let changes = report["changes"].as_array().unwrap().iter().filter(|change| change["key"] == key);
    let nodes =
        |change: &Json| report["node_sets"][usize::try_from(change["nodes"].as_u64().unwrap()).unwrap()].to_string();
    changes.map(|of| (nodes(of), of["before"]["value"].clone(), of["after"]["value"].clone())).collect()
}

#[test]
fn what_all_manifests_merge_in_one_way_is_shown() {
    for (manifest, key) in [
        ("$l = lookup('list', Array, 'unique')", "list"),
        ("$l = lookup({'name' => 'list', 'merge' => 'unique'})", "list"),
        ("$l = hiera_array('list')", "list"),
        ("hiera_include('list')", "list"),
        ("lookup('list', {merge => unique}).include", "list"),
        ("contain 'list'.lookup(Array, 'unique')", "list"),
        ("$l = lookup('list', Array, 'unique')\n$m = lookup(['list', 'other'], {merge => unique})", "list"),
        ("$l = lookup('list.0', String, 'unique')", "list"),
        ("$l = lookup(\"list.${x}\", String, 'unique')", "list"),
        ("$l = lookup(\"li${x}\", Array, 'unique')", "list"),
        ("$u = hiera_hash('users', {})", "users"),
        ("notice(\"users: ${hiera_hash('users')}\")", "users"),
        ("$u = \"${lookup(\"users\", Hash, 'deep')['ada']}\"", "users"),
        ("$u = lookup('users', Hash, {'strategy' => 'deep', 'knockout_prefix' => '--'}, {})", "users"),
        ("$l = call('lookup', 'list', Array, 'unique')", "list"),
        ("$l = 'Hiera_Array'.call('list')", "list"),
        ("$l = Deferred('lookup', ['list', Array, 'unique']).call", "list"),
        ("$l = call(Deferred.new('hiera_array', ['list']))", "list"),
        ("$l = lookup(*['list', Array, 'unique'])", "list"),
        ("$l = lookup('list', *[Array, 'unique'])", "list"),
        ("$a = ['list', Array, 'unique']; $l = lookup(*$a)", "list"),
        ("$f = 'lookup'; $l = call($f, 'list', Array, 'unique')", "list"),
        ("$l = inline_epp('<%= lookup(\"list\", Array, \"unique\") %>')", "list"),
        ("$l = inline_epp(\"<% |\\$x| %><%= lookup(\\\"list\\\", Array, 'unique') %>\")", "list"),
        ("$l = \"${x} <%= scope.call_function('lookup', ['list', Array, 'unique']) %>\".inline_template", "list"),
        ("$l = inline_template(\"<%= scope.function_hiera_array([\\\"list\\\"]) %>\")", "list"),
    ] {
        let report = report(manifest, "");
        let changes = changes(&report, key);
        assert!(changes.iter().any(|(nodes, ..)| nodes.contains("web01")), "{manifest}: {report}");
        assert_eq!((spot(&report), &report["verdict"]), (None, &Json::from("changes")), "{manifest}: {report}");
        assert!(report.to_string().contains(r#""path":"manifests/site.pp","line":1,"how":"manifest""#), "{report}");
    }
}

#[test]
fn what_templates_and_functions_look_up_is_shown() {
    for (file, line, text, key) in [
        ("manifests/h.pp", 2, "$l = inline_epp(@(E))\n<%= lookup('list', Array, 'unique') %>\n| E\n", "list"),
        ("manifests/h.pp", 1, "$l = @(\"E\"/L)\n\n${lookup('list', Array, 'unique')}\n| E\n", "list"),
        ("modules/m/templates/a.epp", 2, "a\n<%= lookup('users', Hash, 'deep') %>\n", "users"),
        ("templates/a.epp", 1, "<%- | $x = lookup('users', Hash, 'hash') | -%>\n<%= $x %>\n", "users"),
        ("templates/.a.epp", 2, "<% if $x { # ' %>\n<%= \"${hiera_hash('users')['ada']}\" -%>\n<% } %>\n", "users"),
        ("modules/m/templates/a.epp", 1, "<% ['x'].each |$x| { %><%= call('hiera_array', 'list') %><% } %>\n", "list"),
        ("modules/m/templates/sub/a.erb", 1, "<%= scope.function_hiera_hash(['users', {}]) %>\n", "users"),
        ("a.conf.erb", 2, "<%-\nu = scope.call_function('lookup', ['users', Hash, 'deep'])['x'] -%>\n", "users"),
        ("modules/m/templates/a.conf", 1, "<%= scope().function_hiera_array [\"list\"] %> it's\n", "list"),
        ("modules/m/templates/a.conf", 1, "it's <%= lookup('list', Array, 'unique') %>\n", "list"),
        ("modules/m/templates/a.erb", 1, "<% if scope.send(:function_hiera_hash, ['users']) %>\n", "users"),
        (
            "modules/m/lib/puppet/functions/m/f.rb",
            2,
            "def f\n  call_function('lookup', 'users', 'merge' => 'deep')\n",
            "users",
        ),
        ("modules/m/lib/puppet/parser/functions/f.rb", 1, "x = function_hiera_hash(['users', nil])\n", "users"),
        ("lib/puppet/functions/f.rb", 2, "x = \"'\"\ncall_function(:hiera_hash, 'users')\n", "users"),
        ("lib/puppet/functions/f.rb", 1, "send(:call_function, 'lookup', 'users', nil, 'hash')\n", "users"),
        ("lib/puppet/functions/f.rb", 1, "scope.__send__('call_function', :hiera_hash, ['users'])\n", "users"),
        ("lib/puppet/functions/f.rb", 1, "call_function('lookup', \"\\u0075sers\", nil, 'hash')\n", "users"),
        ("lib/puppet/functions/f.rb", 1, "call_function('lookup', \"\\x75sers\", nil, 'hash')\n", "users"),
        ("lib/puppet/functions/f.rb", 1, "call_function('lookup', \"\\165sers\", nil, 'hash')\n", "users"),
        ("manifests/h.pp", 1, "$l = lookup(\"\\u{75}s${x}\", Hash, 'hash')\n", "users"),
        ("lib/puppet_x/f.rb", 1, "Puppet::Pops::Lookup.lookup('list', nil, [], true, 'unique', i)\n", "list"),
        ("functions/f.pp", 1, "function environment::f() { lookup('users', Hash, 'deep') }\n", "users"),
        ("functions/f.pp", 2, "function environment::f() >> Hash {\n'users'.hiera_hash }\n", "users"),
        ("functions/f.pp", 1, "function environment::f($k) { lookup(\"us${k}\", Hash, 'hash') }\n", "users"),
        ("modules/m/functions/f.pp", 3, "function m::f($x) {\n$k = \"us${x}\"\nlookup($k, Hash, 'hash') }\n", "users"),
        ("lib/puppet/functions/f.rb", 1, "call_function('lookup', 'us' + rest, nil, 'hash')\n", "users"),
        ("lib/puppet/functions/f.rb", 1, "call_function('lookup', \"us\" << rest, nil, 'hash')\n", "users"),
        ("lib/puppet/functions/f.rb", 1, "call_function('lookup', ['us%s' % rest, nil, 'hash'])\n", "users"),
        ("lib/puppet/functions/f.rb", 1, "function_hiera_hash([\"u#{s}%s\" % rest])\n", "users"),
    ] {
        let report = report("# nothing", &format!("-- {file}\n{text}"));
        let changes = changes(&report, key);
        assert!(changes.iter().any(|(nodes, ..)| nodes.contains("web01")), "{text}: {report}");
        assert_eq!((spot(&report), &report["verdict"]), (None, &Json::from("changes")), "{text}: {report}");
        let place = format!(r#""path":"{file}","line":{line},"how":"manifest""#);
        assert!(report.to_string().contains(&place), "{place}: {report}");
    }
}

#[test]
fn what_templates_and_functions_may_look_up_is_no_calm() {
    for (file, text) in [
        ("manifests/h.pp", "$l = lookup(*$args)"),
        ("manifests/h.pp", "$l = lookup('users', *$others)"),
        ("manifests/h.pp", "$l = call($function, 'users')"),
        ("manifests/h.pp", "$l = lookup('users', { merge => 'hash' } + $more)"),
        ("manifests/h.pp", "$l = lookup('users', $more + { merge => 'hash' })"),
        ("manifests/h.pp", "$l = lookup({ name => 'users', merge => 'hash' } + $more)"),
        ("manifests/h.pp", "$l = lookup('users', $options['users'])"),
        ("manifests/h.pp", "$l = lookup('users', deep_merge($options, { merge => 'hash' }))"),
        ("manifests/h.pp", "$l = lookup('users', ($options))"),
        ("manifests/h.pp", "$l = lookup('users', { $m => 'hash' })"),
        ("manifests/h.pp", "$l = lookup({ name => 'users', $m => 'hash' })"),
        ("manifests/h.pp", "$l = lookup(merge({ name => 'users' }, { merge => 'hash' }))"),
        ("manifests/h.pp", "$l = lookup(deep_merge($options, { name => 'users' }))"),
        ("manifests/h.pp", "$l = merge($options, { name => 'users' }).lookup"),
        ("manifests/h.pp", "$l = call('lookup', merge($options, { name => 'users' }))"),
        ("manifests/h.pp", "$l = lookup(*[merge($options, { name => 'users' })])"),
        ("manifests/h.pp", "$l = lookup(*f('users'))"),
        ("manifests/h.pp", "$l = lookup(Hash([['name', 'users'], ['merge', 'hash']]))"),
        ("manifests/h.pp", "$l = lookup(if $x { { name => 'users', merge => 'hash' } } else { 'list' })"),
        ("manifests/h.pp", "$l = lookup($x ? { 1 => { name => 'users', merge => 'hash' }, default => 'list' })"),
        ("manifests/h.pp", "$l = lookup(lookup('of_users'))"),
        ("manifests/h.pp", "$l = lookup($options['users'])"),
        ("manifests/h.pp", "$o = merge($options, { name => 'users' }) $l = lookup($o)"),
        ("manifests/h.pp", "$o = { name => 'users', merge => $merge } $l = $o.lookup"),
        ("manifests/h.pp", "$o = $x + { name => 'users' } $l = $o.lookup()"),
        ("manifests/h.pp", "$o = $x ? { 1 => $all, default => 'list' } $l = lookup($o)"),
        ("functions/f.pp", "function environment::f($key) { lookup($key, Hash, 'hash') }"),
        ("functions/f.pp", "function environment::f(*$all) { lookup(*$all) }"),
        ("functions/f.pp", "function f($k) { lookup($k, Hash, 'hash') } function g() { $k = 'list' }"),
        ("functions/f.pp", "function f($l) { $k = 'x' $l.map |$n, $k| { lookup($k, Hash, 'hash') } }"),
        ("functions/f.pp", "function f($k) { $o = \"x${k}\" lookup($k, Hash, 'hash') } function g() { $k = \"y$x\" }"),
        ("functions/f.pp", "function f() { $k = \"x${y}\" $k = g() lookup($k, Hash, 'hash') }"),
        ("manifests/h.pp", "$s = if $x { 'hash' } else { 'first' } $l = lookup('users', Hash, $s)"),
        ("manifests/h.pp", "$s = case $x { default: { 'hash' } } $l = lookup('users', Hash, $s)"),
        ("manifests/h.pp", "$s = pick($x, 'hash') $l = lookup('users', Hash, $s)"),
        ("manifests/h.pp", "$s = 'first' class a { $s = $x ? { default => 'hash' } $l = lookup('users', Hash, $s) }"),
        ("manifests/h.pp", "class h($f = 'hiera') { $l = call($f, 'users') } class i($f = 'hiera_hash') { }"),
        ("manifests/h.pp", "$l = inline_epp(\"<%= lookup('us${x}', Hash, \\$merge) %>\")"),
        ("templates/a.epp", "<%= lookup($key, Hash, 'hash') %>"),
        ("templates/a.erb", "<%= scope.function_hiera_hash([@key]) %>"),
        ("templates/a.erb", "<%= scope.function_hiera_hash([\"us#{@x}\"]) %> <%= scope.function_hiera(['users']) %>"),
        ("templates/a", "<%= scope.call_function('lookup', @arguments) %>"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', 'users', options)"),
        ("lib/puppet/functions/f.rb", "call_function(all ? 'hiera_hash' : 'hiera', 'users')"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', 'users', "),
        (
            "lib/puppet/functions/f.rb",
            "Puppet::Pops::Lookup::LookupAdapter.adapt(compiler).lookup(key, invocation, 'hash')",
        ),
        ("lib/puppet/functions/f.rb", "Puppet::Pops::Lookup.search_and_merge(key, invocation, 'hash')"),
        ("lib/puppet/functions/f.rb", "f = loader.load(:function, 'lookup')"),
        ("lib/puppet/functions/f.rb", "loader.load :function, :hiera_hash"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', prefix + 'users', nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', '%s' % key, nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', format('%s::users', m), nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', [m, 'users'].join('::'), nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', 'us'.dup << key, nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', %w[users list], nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "call_function('look' + 'up', 'users', nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "call_function(\"hiera_#{kind}\", 'users')"),
        ("lib/puppet/functions/f.rb", "method(:call_function).call('lookup', 'users', nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "m = :call_function; send(m, 'lookup', 'users', nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "scope.method(:function_hiera_hash).call(['users'])"),
        ("lib/puppet/functions/f.rb", "scope.send(:\"function_hiera_#{kind}\", ['users'])"),
        ("lib/puppet/functions/f.rb", "name = 'hiera_hash'; scope.send('function_' + name, ['users'])"),
        ("lib/puppet/functions/f.rb", "name = 'hiera_hash'; scope.send('function_%s' % name, ['users'])"),
        ("lib/puppet/functions/f.rb", "%i[hiera_hash].each { |name| call_function(name, 'users') }"),
        ("lib/puppet/functions/f.rb", "call_function('call', 'hiera_hash', 'users')"),
        ("lib/puppet/functions/f.rb", "call_function('inline_epp', \"<%= lookup('users', Hash, 'hash') %>\")"),
        ("lib/puppet/functions/f.rb", "EvaluatingParser.new.evaluate_string(scope, code)"),
        ("templates/a.erb", "<% f = scope.method(:call_function) %><%= f.call('lookup', ['users', nil, 'hash']) %>"),
        ("templates/a.erb", "<%= scope.call_function(:lookup, [[@m, 'users'].join('::'), nil, 'hash']) %>"),
    ] {
        let report = report("# nothing", &format!("-- {file}\n{text}\n"));
        let spot = spot(&report).unwrap_or_else(|| panic!("{text}: {report}"));
        assert!(spot["keys"].as_array().unwrap().contains(&"users".into()), "{text}: {spot}");
        assert!(spot["message"].as_str().unwrap().contains(&format!("({file}:1)")), "{text}: {spot}");
    }
}

#[test]
fn what_looks_nothing_up_in_templates_and_functions_is_calm() {
    for (file, text) in [
        ("templates/a.epp", "<%# lookup('users', Hash, 'deep') %> <%%= lookup('users', Hash, 'deep') %>"),
        ("templates/a.epp", "lookup('users', Hash, 'deep') <%= 'lookup' %>"),
        ("templates/a.erb", "<%= scope.lookupvar('users') %> <%= scope['users'] %>"),
        ("templates/a.erb", "function_hiera_hash(['users']) <%-# function_hiera_hash(['users']) %>"),
        ("templates/a.erb", "<%= scope.function_hiera(['users']) %>"),
        ("templates/a.erb", "<%= scope.call_function('include', ['users']) %>"),
        ("lib/puppet/functions/f.rb", "# call_function('lookup', 'users', 'merge' => 'deep')"),
        ("lib/puppet/functions/f.rb", "def call_function(name)\n  call_function(name, 'users')"),
        ("lib/puppet/functions/f.rb", "loader.load(:function, 'include')"),
        ("lib/puppet/functions/f.rb", "# LookupAdapter\nPuppet::Pops::Lookup::Invocation.new(scope)"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', 'users')"),
        ("modules/m/lib/facter/f.rb", "call_function('lookup', 'users', 'merge' => 'deep')"),
        ("templates/a.epp", "<%= lookup('users', Hash[String, Data]) %>"),
        ("manifests/h.pp", "$l = lookup('users', Optional[Hash])"),
        ("spec/functions/f.rb", "call_function('lookup', 'users', 'merge' => 'deep')"),
        ("modules/m/spec/lib/f.rb", "call_function('lookup', 'users', 'merge' => 'deep')"),
        ("data.erb.txt", "<%= scope.function_hiera_hash(['users']) %>"),
        ("manifests/h.pp", "$l = call('include', 'users')"),
        ("manifests/h.pp", "$l = lookup(*['users'])"),
        ("manifests/h.pp", "$l = 'users'.lookup"),
        ("manifests/h.pp", "$l = lookup($key)"),
        ("manifests/h.pp", "$l = lookup(['users', $key])"),
        ("manifests/h.pp", "$l = lookup(regsubst($key, '-', '_'))"),
        ("manifests/h.pp", "$l = lookup($facts['os']['family'] ? { 'x' => 'users', default => \"us${x}\" })"),
        ("manifests/h.pp", "$k = $x ? { 'x' => 'users', default => 'list' } $l = lookup($k)"),
        ("manifests/h.pp", "$k = downcase(\"us${x}\") $l = lookup($k)"),
        ("manifests/h.pp", "$k = \"x${y}\" $l = lookup($k, Hash, 'hash')"),
        ("functions/f.pp", "function environment::f($key) { lookup(\"x${key}\", Hash, 'hash') }"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', 'x' + key, nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "respond_to?(:call_function) and respond_to?(:function_hiera_hash)"),
        ("lib/puppet/functions/f.rb", "send(:call_function, 'lookup', 'users')"),
        ("lib/puppet/functions/f.rb", "send(\"function_#{name}\", ['users']) + call_function(\"#{name}_x\", 'users')"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', \"\\u0078sers\", nil, 'hash')"),
        ("manifests/h.pp", "$l = lookup(\"\\u{78}sers\", Hash, 'hash')"),
        ("lib/puppet/functions/f.rb", "call_function('lookup', 'x%s' % key, nil, 'hash')"),
        ("lib/puppet/functions/f.rb", "function_hiera_hash([\"x#{y}%s\" % key])"),
        ("manifests/h.pp", "$l = '<p>lookup(\"users\", Hash, \"deep\")</p>'"),
    ] {
        let report = report("# nothing", &format!("-- {file}\n{text}\n"));
        let changes = changes(&report, "users");
        let of_node = changes.iter().find(|(nodes, ..)| nodes.contains("web01"));
        assert_eq!((spot(&report), of_node), (None, None), "{text}: {report}");
    }
    let off = "-- hierad.yaml\nprofiles: [profiles]\nmanifests: false\n";
    let report = report("# nothing", &format!("-- templates/a.epp\n<%= lookup('users', Hash, 'deep') %>\n{off}"));
    assert_eq!((spot(&report), changes(&report, "users").len()), (None, 1), "{report}");
}

/// The options of a lookup of the key.
const OPTIONS: &str = "{name => 'users', merge => 'hash'}";

#[test]
fn options_that_a_lookup_is_given_from_elsewhere_are_no_calm() {
    let function = "function m::f($o) { lookup($o) }";
    for (file, text, more) in [
        ("modules/m/functions/f.pp", function, "$x = m::f(OPTIONS)"),
        ("modules/m/functions/f.pp", function, "$x = OPTIONS.m::f"),
        ("modules/m/functions/f.pp", function, "$x = m::f(name => 'users', merge => hash)"),
        ("modules/m/functions/f.pp", function, "$x = m::f({name => 'users'} + {merge => hash})"),
        ("modules/m/functions/f.pp", function, "$x = m::f({name => 'users', $m => hash})"),
        ("modules/m/functions/f.pp", function, "$y = OPTIONS $x = m::f($y)"),
        ("modules/m/functions/f.pp", function, "$x = m::f(lookup('options'))"),
        ("modules/m/functions/f.pp", function, "$x = m::f($facts['options'])"),
        ("modules/m/functions/f.pp", function, "$x = \"${m::f(OPTIONS)}\""),
        ("modules/m/functions/f.pp", function, "$x = call('m::f', OPTIONS)"),
        ("modules/m/functions/f.pp", function, "$x = Deferred('m::f', [OPTIONS]).call"),
        ("modules/m/functions/f.pp", function, "function g($x) { m::f($x) } $x = g(OPTIONS)"),
        ("modules/m/functions/f.pp", function, "-- templates/a.epp\n<%= m::f(OPTIONS) %>"),
        ("modules/m/functions/f.pp", function, "-- templates/a.erb\n<%= scope.call_function('m::f', [@options]) %>"),
        ("modules/m/functions/f.pp", function, "-- lib/puppet/functions/g.rb\ncall_function('m::f', options)"),
        ("modules/m/functions/f.pp", "function m::f(Hash $o) { $o.lookup }", "$x = m::f(OPTIONS)"),
        ("modules/m/functions/f.pp", "function m::f(Array $o) { $o.map |$x| { lookup($x) } }", "$x = m::f([OPTIONS])"),
        ("modules/m/functions/f.pp", "function m::f($o = 'list') { $p = $o lookup($p) }", "$x = m::f(OPTIONS)"),
        ("modules/m/functions/f.pp", "function m::f($o) { if $o =~ Hash { lookup($o) } }", "$x = m::f(OPTIONS)"),
        ("modules/m/manifests/d.pp", "define m::d($o) { $x = lookup($o) }", "m::d { 'x': o => OPTIONS }"),
        ("modules/m/manifests/d.pp", "define m::d($o) { $x = lookup($o) }", "M::D { o => OPTIONS }"),
        ("modules/m/manifests/d.pp", "define m::d($o) { $x = lookup($o) }", "M::D['x'] { o => OPTIONS }"),
        ("modules/m/manifests/d.pp", "define m::d($o) { $x = lookup($o) }", "M::D <| title == 'x' |> { o => OPTIONS }"),
        ("modules/m/manifests/d.pp", "define m::d($o) { $x = lookup($o) }", "create_resources('m::d', $all['x'])"),
        // The data give it.
        ("modules/m/manifests/init.pp", "class m($o) { $x = lookup($o) }", "include m"),
        ("modules/m/manifests/init.pp", "class m($x) { $y = lookup($n::o) }", "class n { $o = OPTIONS }"),
        ("templates/a.epp", "<%- | $o | -%><%= lookup($o) %>", "$x = epp('a.epp', {o => OPTIONS})"),
        ("manifests/h.pp", "with(OPTIONS) |$x| { lookup($x) }", ""),
        ("manifests/h.pp", "OPTIONS.then |$x| { lookup($x) }", ""),
        ("manifests/h.pp", "[OPTIONS].each |$n, $x| { lookup($x) }", ""),
        ("manifests/h.pp", "{a => OPTIONS}.each |$n, $x| { lookup($x) }", ""),
        ("manifests/h.pp", "$y = \"${[OPTIONS].map |$x| { $x.lookup }}\"", ""),
        ("manifests/h.pp", "[OPTIONS].reduce({}) |$y, $x| { $y + lookup($x) }", ""),
        ("manifests/h.pp", "$l = [OPTIONS] $l.filter |$x| { true }.each |$x| { lookup($x) }", ""),
        ("manifests/h.pp", "lookup('list').each |$x| { lookup($x) }", ""),
        ("manifests/h.pp", "f(1) |$x| { lookup($x) }", ""),
        ("manifests/h.pp", "[$a, $b] = [OPTIONS, 1] $x = lookup($a)", ""),
    ] {
        let (text, more) = (text.replace("OPTIONS", OPTIONS), more.replace("OPTIONS", OPTIONS));
        let (manifest, more) =
            if more.is_empty() || more.starts_with("-- ") { ("# nothing", &*more) } else { (&*more, "") };
        let report = report(manifest, &format!("-- {file}\n{text}\n{more}\n"));
        let spot = spot(&report).unwrap_or_else(|| panic!("{text} {more} {manifest}: {report}"));
        assert!(spot["keys"].as_array().unwrap().contains(&"users".into()), "{text}: {spot}");
        assert!(spot["message"].as_str().unwrap().contains(&format!("({file}:1)")), "{text}: {spot}");
    }
}

#[test]
fn texts_that_a_lookup_is_given_from_elsewhere_are_calm() {
    for manifest in [
        "function f($o) { lookup($o) } $x = f('users')",
        "function f($o) { lookup($o) } $x = f({name => 'users'})",
        "function f($o) { lookup($o) } function g($x) { f($x) } $r = g(\"us${y}\")",
        "function f($o) { lookup(\"x${o}\") } $x = f(OPTIONS)",
        "function f(String[1] $o) { lookup($o) } $x = f($facts['x'])",
        "function f(Optional[String[1]] $o, Array[Pattern[/x/], 1] $p) { lookup($o) lookup($p) } $x = f(g(), 1)",
        "function f($k, *$more) { lookup($k) } $x = f(regsubst($y, 'a', 'b'), sprintf('x'))",
        "define d($o) { $x = lookup($o) } d { 'x': o => 'users', p => {a => $b} }",
        "class c(Variant[String, Array[String]] $o) { $x = lookup($o) }",
        "['users'].each |$x| { lookup($x) }",
        "with('users') |$x| { lookup($x) }",
        "lookup('list').each |String $x| { lookup($x) }",
        "$l = ['users', \"a${b}\"] $l.filter |$x| { $x =~ /a/ }.each |$x| { lookup($x) }",
        "File <| title == $x |> $y = lookup($x)",
        "$o = OPTIONS notice($o)",
    ] {
        let manifest = manifest.replace("OPTIONS", OPTIONS);
        let report = report(&manifest, "");
        assert_eq!(spot(&report), None, "{manifest}: {report}");
    }
}

#[test]
fn the_place_of_the_lookup_is_said() {
    let site = Sandbox::of(&format!("{SITE}{BEFORE}-- manifests/site.pp\n\n$u = hiera_hash('users')\n"));
    site.write("data/common.yaml", "motd: hello\nntp: [a, b]\nlist: [one]\nusers: {bob: 2}\n");
    let printed = site.hierad("diff .").ok().to_owned();
    assert!(printed.contains("data/common.yaml:4, merged as in manifests/site.pp:2"), "{printed}");
    let explained = site.hierad("lookup users --node web01 --explain").ok().to_owned();
    assert!(explained.contains("Using the merge strategy of manifests/site.pp:2\n"), "{explained}");
    // It is asked for one way, and looked up for other keys in another.
    let data = "-- data/nodes/web01.yaml\nlist: [own]\nusers: {ada: 1}\ncopy: \"%{alias('users')}\"\n";
    site.files(data);
    assert_eq!(site.hierad("lookup copy --node web01 --rev .").ok(), "---\nada: 1\n");
    assert_eq!(site.hierad("lookup users --node web01 --rev .").ok(), "---\nbob: 2\nada: 1\n");
    assert_eq!(site.hierad("lookup users --node web01 --rev . --merge first").ok(), "---\nada: 1\n");
}

#[test]
fn what_a_commit_changes_in_manifests_is_shown() {
    let site = Sandbox::of(&format!("{SITE}{BEFORE}-- manifests/site.pp\n$u = lookup('users')\n"));
    for (manifest, changed) in [
        ("$u = lookup('users', Hash, 'hash')", true),
        ("# a comment\n$u = lookup('users', Hash, 'hash')", false),
        ("$u = lookup(\"us${x}\", Hash, 'hash')", false),
        ("$u = lookup(\"us${x}\", Hash, 'first')", true),
        ("$u = hiera('users')", false),
    ] {
        site.write("manifests/site.pp", manifest);
        site.commit(manifest);
        let report = site.hierad("diff --format json").json();
        assert_eq!(report["verdict"] == "changes", changed, "{manifest}: {report}");
        assert_eq!(changes(&report, "users").len(), usize::from(changed), "{manifest}: {report}");
    }
}

#[test]
fn what_manifests_ask_for_in_several_ways_is_no_calm() {
    let class = |text: &str| format!("-- modules/m/manifests/init.pp\nclass m({text}) {{ }}\n");
    let keys = "-- data/nodes/web01.yaml\nm::list: [own]\n-- data/common.yaml\nm::list: [one]\n";
    for (manifest, more, key) in [
        ("$l = lookup('list', Array, 'unique')\n$m = lookup('list')", "", "list"),
        ("$u = lookup('users', Hash, 'first')\n$v = lookup('users', Hash, 'hash')", "", "users"),
        ("$u = lookup('users', Hash, 'hash')\n$v = hiera('users')", "", "users"),
        ("class a($merge = 'hash') { $u = lookup('users', Hash, $merge) }", "", "users"),
        ("$u = lookup('users', Hash, $merge)", "", "users"),
        ("$o = {name => 'users', merge => 'hash'}\n$u = lookup($o)", "", "users"),
        ("$o = {name => $key, merge => 'hash'}\n$u = lookup($o)", "", "users"),
        ("$u = \"${['users'].map |$k| { lookup($k, Hash, 'hash') }}\"", "", "users"),
        ("$u = lookup('users', { merge => $merge })", "", "users"),
        ("$u = lookup($key, Hash, 'hash')", "", "users"),
        ("$u = lookup(\"us${x}\", Hash, 'hash')\n$v = lookup('users')", "", "users"),
        // Puppet looks the parameter up by itself, with the options of the data.
        ("$l = lookup('m::list', Array, 'unique')", &format!("{}{keys}", class("$list")), "m::list"),
        // So it may be in a module that is not here.
        ("$l = lookup('m::list', Array, 'unique')", keys, "m::list"),
    ] {
        let report = report(manifest, more);
        let spot = spot(&report).unwrap_or_else(|| panic!("{manifest}: {report}"));
        assert!(spot["keys"].as_array().unwrap().contains(&key.into()), "{manifest}: {spot}");
        assert!(spot["message"].as_str().unwrap().contains("manifests/site.pp:"), "{spot}");
        // No line of the key is said to do nothing.
        let lines = report["lines"].as_array().unwrap().iter();
        let idle = |line: &&Json| line["effect"] == "none" && line["reason"] != "equal";
        let of_key = |line: &&Json| line["keys"].as_array().is_some_and(|keys| keys.contains(&key.into()));
        assert_eq!(lines.filter(idle).find(of_key), None, "{manifest}");
    }
    // No parameter has the name.
    let report = report("$l = lookup('m::list', Array, 'unique')", &format!("{}{keys}", class("$other")));
    assert_eq!((spot(&report), changes(&report, "m::list").len()), (None, 2), "{report}");
}

#[test]
fn what_manifests_find_as_it_is_shown_is_not_told() {
    let options =
        "-- data/common.yaml\nmotd: hello\nntp: [a, b]\nlist: [one]\nlookup_options: {list: {merge: unique}}\n";
    for (manifest, more) in [
        ("$l = lookup('list')\n$u = hiera('users')", ""),
        ("$u = lookup('users', Hash, 'first')", ""),
        ("$l = lookup('list', Array, 'unique')", options),
        ("$m = lookup('motd', String, 'unique')", ""),
        ("# lookup('list', Array, 'unique')", ""),
        ("$l = lookup('other', Array, 'unique')", ""),
        // The node that has a value of its own knocks the other out.
        ("$u = lookup('users', Hash, 'deep')", "-- data/nodes/web01.yaml\nusers: {ada: 1, bob: 3}\n"),
    ] {
        let report = report(manifest, more);
        assert_eq!(spot(&report), None, "{manifest}");
    }
}

#[test]
fn settings_say_which_way_is_shown() {
    let manifest = "$l = lookup('list', Array, 'unique')\n$m = lookup('list')";
    let settings = |text: &str| report(manifest, &format!("-- hierad.yaml\nprofiles: [profiles]\n{text}\n"));
    let merged = settings("lookup_options: {\"list\":{\"merge\":\"unique\"}}");
    assert_eq!((spot(&merged), &merged["nodes"]["changed"]), (None, &Json::from(2)), "{merged}");
    assert_eq!(spot(&settings("accept: {merge-in-manifest: [list]}")), None);
    assert_eq!(spot(&settings("manifests: false")), None);
    assert!(spot(&settings("")).is_some());
    // They win over manifests that agree.
    let first = "-- hierad.yaml\nprofiles: [profiles]\nlookup_options: {list: {merge: first}}\n";
    let report = report("$l = lookup('list', Array, 'unique')", first);
    assert_eq!(changes(&report, "list").len(), 1, "{report}");
}

#[test]
fn a_way_that_is_not_seen_is_no_calm() {
    // The merged value stays, and what the data alone give does not.
    for unseen in [
        "['users'].each |$k| { lookup($k) }",
        "lookup(*['users'])",
        "call($f, 'users')",
        "$x = Deferred('lookup', ['users'])",
        "notice(inline_epp(\"<%= lookup('users') %>${x}\"))",
        "lookup(\"\\u{75}sers\")",
    ] {
        let site = Sandbox::of(&format!(
            "{SITE}-- manifests/site.pp\n{unseen}\n$u = lookup('users', Hash, 'hash')\n{SHADOWED}"
        ));
        site.files("-- data/nodes/web01.yaml\nusers: {a: 1, b: 2}\n");
        site.commit("second");
        let report = site.hierad("diff --format json").json();
        // One that is seen is another way, so that the data decide what is shown.
        let is_told = spot(&report).is_some() || changes(&report, "users").len() == 1;
        assert!(is_told, "{unseen}: {report}");
        // What stays either way is calm.
        site.files("-- data/nodes/web01.yaml\nusers: {a: 1, b: 2}\n# a comment\n");
        site.commit("third");
        assert_eq!(site.hierad("diff --format json").json()["verdict"], "no_change", "{unseen}");
    }
}

#[test]
fn a_strategy_that_is_not_known_may_find_the_first_value_alone() {
    // What the data merge stays, and the first value does not.
    for unknown in ["$merge", "{merge => $merge}", "['first', 'deep'][$n]", "$x ? {1 => 'first', default => 'deep'}"] {
        let site = Sandbox::of(&format!(
            "{SITE}-- manifests/site.pp\n$u = lookup('users', {unknown})\n-- data/nodes/web01.yaml\nusers: [v, v]\n\
             -- data/common.yaml\nmotd: hello\nntp: [a, b]\nusers: [w, v]\nlookup_options: {{users: {{merge: unique}}}}\n"
        ).replace("'users', ", if unknown.starts_with('{') { "'users', " } else { "'users', Data, " }));
        site.files("-- data/nodes/web01.yaml\nusers: [v]\n");
        site.commit("second");
        let report = site.hierad("diff --format json").json();
        assert!(spot(&report).is_some(), "{unknown}: {report}");
    }
}

/// Two places of one hash, of which the second has all entries.
const SHADOWED: &str =
    "-- data/nodes/web01.yaml\nusers: {a: 1}\n-- data/common.yaml\nmotd: hello\nntp: [a, b]\nusers: {a: 1, b: 2}\n";

#[test]
fn manifests_of_any_form_take_time_in_proportion_to_their_length() {
    // Each of them took longer than anybody waits, by products of its parts.
    let many = |text: &str, times: usize| text.repeat(full_or(times, times / 4));
    for manifest in [
        format!("$a = ['a'{}]\n{}", many(", 'b'", 10_000), many("lookup($a) ", 10_000)),
        many("lookup($a) ", 80_000),
        format!("class a({})", many("$b ", 300_000)),
        many("class a( ", 100_000),
        many("lookup( ", 120_000),
        many("] = 1 ", 100_000),
        format!("{}{}", many("$a ", 50_000), many("] = 1 ", 50_000)),
        format!("{}{}{}", many("[", 50_000), many("$a, ", 50_000), many("] = 1 ", 50_000)),
        format!("{}{}", many("$m = 'deep' ", 40_000), many("lookup('k', Hash, $m) ", 20_000)),
        many("@(A) ", 100_000) + &many("\nA", 100_000),
        many("lookup(*$a) ", 50_000),
        format!("$a = '{}'\n{}", many("k", 500_000), many("lookup($a) ", 40_000)),
        format!("$a = \"{}\"\n{}", many("k$x", 150_000), many("lookup($a) ", 40_000)),
        format!("$a = ['{}']\n{}", many("k", 500_000), many("lookup($a) ", 40_000)),
        many("$a = $b ? { a => 'b', ", 40_000),
        many("$a = join(", 80_000),
        many("function a(|$a, ", 60_000),
        many("f($a, ", 60_000),
        many("a { $b => ", 60_000),
        many("$a.each |$b| { ", 60_000),
        many("A <| |", 60_000),
        format!("{}{}", many("function f($a) { g($a) lookup($a) } ", 20_000), many("[$a]", 20_000)),
        many("'<%= lookup(1) %>' ", 30_000),
        format!("'{}'", many("<% call_function(", 40_000)),
        format!("'<% {} %>'", many("function_hiera([ ", 40_000)),
    ] {
        let site = Sandbox::of(&format!("{SITE}-- manifests/site.pp\n{manifest}\n"));
        site.files("-- data/roles/web.yaml\nport: 81\n");
        site.commit("second");
        let report = site.hierad("diff --format json").json();
        assert_eq!(report["verdict"], "changes");
    }
}
