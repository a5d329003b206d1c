#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what variables of the top scope are when Puppet has evaluated a manifest:
#
#   ruby tests/puppet/record_top_scope.rb [--manifests N] [--seed N] [--out FILE]
#
# writes tests/vectors/top_scope.json: {"nodes": PROFILES, "manifests": [{"manifest": TEXT, "nodes": {NAME: {VARIABLE:
# VALUE}}}]}, without a node for which Puppet refuses the manifest. Only variables whose name begins with `v` are told.
# Puppet 8 (`ruby -I DIR ...`) writes the same file. The manifests are those below and random ones of their pieces.
require 'json'
require 'optparse'
require 'tmpdir'
require 'puppet'

NODES = [
  { 'name' => 'osl-web-01.example.com', 'facts' => { 'site' => 'oslo-1', 'os' => { 'family' => 'Debian', 'name' => 'Debian', 'cores' => 4 },
                                                     'list' => %w[a b c], 'word' => 'Upper-Case_x', 'dots' => 'a.b..c.' },
    'trusted' => { 'certname' => 'osl-web-01.example.com', 'extensions' => { 'pp_role' => 'web::front' } }, 'parameters' => { 'given' => 'enc' } },
  { 'name' => 'db1', 'facts' => { 'site' => '', 'os' => { 'family' => 'RedHat' }, 'word' => "st\u00e6d-\u00d8", 'dots' => "x\ny" },
    'trusted' => { 'certname' => 'db1', 'extensions' => {} }, 'parameters' => {} }
].freeze

BY_HAND = [
  "$v0 = split($trusted['certname'], '-')[0]\n",
  "$v0 = $trusted['certname'].split('-')[0]\n$v1 = \"${v0}/x\"\n",
  "$v0 = \"${trusted['certname']}\"\n$v1 = \"$site-x\"\n$v2 = \"$::site\"\n$v3 = \"${::site}\"\n$v4 = \"$v1[0]\"\n",
  "$v0 = regsubst($trusted['certname'], '^([a-z]+)-([a-z]+).*$', '\\2_\\1')\n",
  "$v0 = regsubst($dots, '\\.', '-', 'G')\n$v1 = regsubst($dots, /\\./, '-')\n",
  "$v0 = downcase($word)\n$v1 = upcase($word)\n$v2 = $word.downcase\n",
  "$v0 = $facts['os']['family']\n$v1 = $os['family']\n$v2 = \"${os['family']}\"\n$v3 = \"${facts['os']['cores']}\"\n",
  "$v0 = $site[0,3]\n$v1 = $site[0]\n$v2 = $site[-1]\n$v3 = $list[1]\n$v4 = $list[-1]\n",
  "$v0 = { 'Debian' => 'deb', 'RedHat' => 'rpm' }[$facts['os']['family']]\n",
  "$v9 = { 'Debian' => 'deb', 'RedHat' => 'rpm' }\n$v0 = $v9[$facts['os']['family']]\n",
  "if true { $v0 = 'x' }\n$v1 = 'y'\n",
  "$v0 = 'x'\nnode 'db1' { $v0 = 'node' }\nnode default { }\n",
  "$v0 = split('a-b', '-') [0]\n",
  "$v0 = $site\n[0]\n",
  "$v0 = $given\n$v1 = \"${given}\"\n",
  "$v0 = $nothing\n$v1 = \"x${nothing}\"\n",
  "$v1 = $v0\n$v0 = 'late'\n",
  "$v0 = 'a'\n$v1 = \"\\${v0}\"\n$v2 = \"a\\tb\"\n$v3 = \"${v0}\\n\"\n",
  "$v0 = split($dots, '[.]')[1]\n$v1 = split($dots, '')[0]\n$v2 = split($dots, '(b)')[1]\n$v3 = \"${split($dots, 'b')[0]}\"\n",
  "class c { $v0 = 'inner' }\ninclude c\n$v0 = 'outer'\n",
  "$v0 = $title\n$v1 = $module_name\n$v2 = $name\n$v3 = \"${title}\"\n",
  "$v0 = $environment\n$v1 = \"${environment}-x\"\n",
  "$v0 = @(\"END\")\n  ${site}\n  | END\n$v1 = @(END)\n  x\n  | END\n",
  "$v0 = 5\n$v1 = \"${v0}\"\n$v2 = $list[$v0]\n$v3 = -1\n$v4 = $list[$v3]\n",
  "$v0 = $site + 1\n", "$v0 = $site ? { 'oslo-1' => 'o', default => 'd' }\n", "$v0 = if $site == 'oslo-1' { 'o' } else { 'd' }\n",
  "[$v0, $v1] = split($site, '-')\n", "$v0 = $v1 = 'x'\n", "$v0 = $facts.dig('os', 'family')\n$v1 = $facts['os.family']\n",
  "$v0 = \"${facts.dig('os', 'family')}\"\n$v1 = \"${$site}\"\n$v2 = \"${ site }\"\n$v3 = \"${os}\"\n$v4 = \"${list}\"\n",
  "$v0 = split($site, /-/)[0]\n$v1 = $site.split(/-/)[1]\n$v2 = split($site, Regexp['-'])[0]\n",
  "$site = 'other'\n$v0 = $site\n", "$v0 = \"x\" 'y'\n", "$v0 = true\n$v1 = \"${v0}\"\n$v2 = undef\n$v3 = \"${v2}\"\n"
].freeze

# Random manifests.
class Pieces
  def initialize(random)
    @random = random
  end

  def manifest
    Array.new(1 + @random.rand(5)) { |at| "#{gap}#{statement("v#{at}")}\n" }.join
  end

  private

  def pick(*array)
    array[@random.rand(array.size)]
  end

  def gap
    pick('', '', '', "# $v0 = 'x'\n", "/* { */\n", "class c#{@random.rand(1000)} { $v1 = 1 }\n", "File { mode => '0644' }\n", "notice('x')\n",
         "Package { provider => $site ? { 'x' => 'y', default => 'z' } }\n")
  end

  def statement(name)
    value = expression(0)
    case @random.rand(16)
    when 0 then "if $site == #{literal} { $#{name} = #{value} }"
    when 1 then "node #{pick("'db1'", '/osl/', 'default')} { $#{name} = #{value} }\nnode 'other' { }"
    when 2 then "$#{name} = #{value}; $#{name}x = #{value}"
    else "$#{name} = #{value}"
    end
  end

  def expression(depth)
    return literal if depth > 3

    case @random.rand(20)
    when 0, 1 then literal
    when 2..5 then variable
    when 6, 7 then "#{expression(depth + 1)}[#{index(depth)}]"
    when 8, 9 then "split(#{expression(depth + 1)}, #{pattern})#{pick('', "[#{index(depth)}]", "[#{index(depth)}]")}"
    when 10 then "#{variable}.split(#{pattern})[#{index(depth)}]"
    when 11 then "#{pick('downcase', 'upcase')}(#{expression(depth + 1)})"
    when 12 then "#{variable}.#{pick('downcase', 'upcase', 'downcase()', 'upcase()', 'size')}"
    when 13, 14 then "regsubst(#{expression(depth + 1)}, #{pattern}, #{replacement}#{pick('', '', ", 'G'", ", 'I'", ', undef')})"
    when 15, 16 then template(depth)
    when 17 then "#{expression(depth + 1)}#{pick(' + 1', ' [0]', ".then |$x| { $x }", " ? { default => 'd' }", ' == 1', " in ['a']")}"
    when 18 then "(#{expression(depth + 1)})"
    else "{ 'Debian' => #{literal}, 'RedHat' => 'r' }[#{variable}]"
    end
  end

  def template(depth)
    parts = Array.new(1 + @random.rand(3)) do
      pick('a', '-', '.', '\\n', '\\$', '$site', '$::site', '${site}', '$v0', '${v0}', '${v1}', "${trusted['certname']}", "${os['family']}",
           "${facts['os']['family']}", '${site[0]}', '${list[1]}', "${split(site, '-')[0]}", "${split($site, '-')[0]}", '${ site }', '$site[0]', '$site.x',
           "${site.upcase}", "${#{expression(depth + 1).tr('"', "'")}}", '{', '}', '$', '%{x}')
    end
    "\"#{parts.join}\""
  end

  def variable
    pick('$site', '$::site', '$word', '$dots', "$trusted['certname']", "$facts['os']['family']", "$os['name']", '$os', '$list', '$v0', '$v1', '$v2', '$::v0',
         "$trusted['extensions']['pp_role']", "$facts['nothing']", '$nothing', '$given', '$environment', '$facts', "$facts['list']", '$title', "$facts[site]")
  end

  def index(depth)
    pick('0', '1', '-1', '2', '-2', '9', '0,2', '1,3', '0,-1', "'family'", "'0'", variable, '01', '0x1', depth < 2 ? expression(depth + 2) : '0')
  end

  def pattern
    pick("'-'", '/-/', "'[.-]'", '/[.]+/', "'\\.'", "''", "' '", "'(-)'", "'^o'", "'x*'", '/(?i)O/', '/\\d/', "'(?<=s)l'", '/\\b/', '"-"', 'Regexp[/-/]', '$v0')
  end

  def replacement
    pick("'_'", "'\\0\\0'", "'<\\1>'", "'\\\\'", '"\\\\0"', "''", "'\\k<x>'", "'$0'", "{'-' => '+'}", '$v0')
  end

  def literal
    pick("'x'", "'a-b'", "'it''s'", "'a\\'b'", "'osl-1'", '"y"', '0', '1', '42', '-1', '1.5', 'true', 'false', 'undef', 'bare', '[]', "['a', 'b']", "{a => 'b'}", "''", '007',
         "['x-y', 1][0]", "'%{site}'")
  end
end

# Answers of Puppet.
module Answers
  module_function

  def of(manifest)
    answers = NODES.map { |node| [node['name'], of_node(manifest, node)] }
    { 'manifest' => manifest, 'nodes' => answers.reject { |_, answer| answer == :refused }.to_h }
  end

  def of_node(manifest, profile)
    Puppet[:code] = manifest
    environment = Puppet::Node::Environment.create(:production, [])
    loaders = Puppet::Pops::Loaders.new(environment)
    Puppet.override(current_environment: environment, loaders: loaders) do
      node = Puppet::Node.new(profile['name'], environment: environment, facts: Puppet::Node::Facts.new(profile['name'], profile['facts']),
                                               parameters: profile['parameters'])
      node.merge(profile['facts'])
      node.trusted_data = profile['trusted']
      compiler = Puppet::Parser::Compiler.new(node)
      compiler.compile
      # The scope from which classes of a node block look something up.
      scope = compiler.instance_variable_get(:@node_scope) || compiler.topscope
      scope.to_hash(true, true).select { |name, _| name.match?(/\Av\d/) }.transform_values { |value| encoded(value) }
    end
  rescue Puppet::Error, ArgumentError, RegexpError, TypeError, NoMethodError
    :refused
  end

  # What JSON does not have is told as text of its own kind.
  def encoded(value)
    case value
    when nil, true, false, Integer, String then value
    when Array then value.map { |item| encoded(item) }
    when Hash then value.to_h { |key, item| [key.to_s, encoded(item)] }
    else { '__other' => value.class.name }
    end
  end
end

options = { manifests: 600, seed: 31, out: File.expand_path('../vectors/top_scope.json', __dir__) }
OptionParser.new do |parser|
  parser.on('--manifests N', Integer) { |number| options[:manifests] = number }
  parser.on('--seed N', Integer) { |number| options[:seed] = number }
  parser.on('--out FILE') { |file| options[:out] = file }
end.parse!
Dir.mktmpdir do |folder|
  Puppet.initialize_settings(['--confdir', folder, '--vardir', folder, '--codedir', folder])
  Puppet[:strict] = :warning
  Puppet[:strict_variables] = false
  Puppet::Util::Log.level = :crit
  random = Random.new(options[:seed])
  manifests = BY_HAND + Array.new(options[:manifests]) { Pieces.new(random).manifest }
  recorded = manifests.map { |manifest| Answers.of(manifest) }
  nodes = NODES.map { |node| node.reject { |name, _| name == 'parameters' }.merge('variables' => node['parameters']) }
  lines = recorded.map { |one| JSON.generate(one) }.join(",\n")
  File.write(options[:out], "{\"nodes\": #{JSON.generate(nodes)},\n\"manifests\": [\n#{lines}\n]}\n")
  puts "#{recorded.size} manifests, #{recorded.sum { |one| one['nodes'].values.sum(&:size) }} values"
end
