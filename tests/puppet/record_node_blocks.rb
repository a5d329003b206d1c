#!/usr/bin/env ruby
# frozen_string_literal: true

# Records which node block of a manifest Puppet takes for a node, and what the block sets:
#
#   ruby tests/puppet/record_node_blocks.rb
#
# writes tests/vectors/node_blocks.json: a list of {"manifest": TEXT, "nodes": {NAME: ANSWER}}, where an answer is
# {"line": LINE, "set": {VARIABLE: VALUE}}, null for a node without a block, or absent where Puppet refuses the manifest
# for that node. The manifests are those below and random ones of their pieces.
require 'json'
require 'tmpdir'
require 'puppet'

NODES = %w[web1 web2.example.com WEB3 db1.example.com db2 default other.example.org].freeze

BY_HAND = [
  "node 'web1' { $a = 1 }\nnode /^web/ { $a = 2 }\nnode default { $a = 3 }\n",
  "node /^web/ { $a = 2 }\nnode 'web1' { $a = 1 }\n",
  "node /example/ { $a = 1 }\nnode /^web/ { $a = 2 }\nnode /web2/ { $a = 3 }\n",
  "node web1, 'db2', /org$/ { $a = 1 }\n",
  "node web2.example.com { $a = 1 }\nnode db1.example.com, default { $a = 2 }\n",
  "node 'WEB1' { $a = 1 }\nnode /^WEB/ { $a = 2 }\n",
  "node /web3/ { $a = 1 }\nnode /(?i)WEB/ { $a = 2 }\n",
  "# node 'web1' { $a = 0 }\n/* node 'web1' { } */ node 'web1' { $a = '}' $b = \"{\" }\nnode default { }\n",
  "class x { $node = 1 }\nnode 'web1' { if true { $a = 1 } else { $a = 2 } }\n",
  "node 'web1' { $a = [1, 'x', {k => v}] $b = {a => [true, undef]} [$c, $d] = [1, 2] }\n",
  "node 'web1' { $a = 'it''s' $b = \"a\\tb\" $c = 'a\\'b' $d = 'a\\\\b' }\n",
  "node 'web1' { $a = 0x1F $b = 017 $c = -3 $d = 1.5 $e = 1e3 }\n",
  "node 'web1' { $a = 1 + 1 $b = 'x' ? { default => 2 } $c = $a $d = \"$a\" $e = bare }\n",
  "node 'web1' { $a = @(END)\n  node 'db2' { $a = 1 }\n  | END\n}\n",
  "node 'web1' { $a = true $b = false $c = undef $d = default }\n",
  "$top = 1\nnode 'web1' { $a = $top }\nnode default { $top = 2 }\n",
  "node 'web1' { $a = 5 notify { 'x': message => 'node' } }\n",
].freeze

# Random manifests.
class Pieces
  def initialize(random)
    @random = random
  end

  def manifest
    count = 1 + @random.rand(4)
    heads = Array.new(count) { head }
    heads.map.with_index { |head, at| "#{gap}node #{head} {#{body(at)}}\n" }.join
  end

  private

  def pick(array)
    array[@random.rand(array.size)]
  end

  def gap
    pick(['', '', "\n", "# node 'web1' { }\n", "/* { */\n", "class c#{@random.rand(1000)} { $x = 1 }\n"])
  end

  def head
    Array.new(1 + @random.rand(2)) { pick(NAMES) }.join(pick([', ', ",\n  "]))
  end
  NAMES = ["'web1'", 'web1', 'web2.example.com', '"db2"', "'WEB3'", 'default', '/^web/', '/example\\.com$/', '/\\/|db/', '/[0-9]$/', '/^(web|db)1/',
           "'other.example.org'", '/\\Adb\\d/', '/o(?=rg)/'].freeze

  def body(at)
    Array.new(@random.rand(4)) { |number| "\n  #{statement("v#{at}#{number}")}" }.join + pick(["\n", ' '])
  end

  def statement(name)
    case @random.rand(8)
    when 0 then "if #{pick(%w[true false])} { $#{name} = #{literal} }"
    when 1 then "notify { '#{name}': message => #{literal} }"
    when 2 then "# $#{name} = #{literal}"
    else "$#{name} = #{literal(0)}#{pick(['', '', ' # }', ";"])}"
    end
  end

  def literal(depth = 2)
    case @random.rand(depth < 2 ? 12 : 8)
    when 0 then pick(["'x'", "'web::front'", "'}'", "'it\\'s'", "''", "'a\\\\'", "'%{x}'"])
    when 1 then pick(['"x"', '"a{b"', '"\\$x"', '"a\\nb"', '"${facts}"', '"$v00"', '"a${1}b"'])
    when 2 then pick(%w[0 1 42 007 0x1f 1.5 1e2 -1])
    when 3 then pick(%w[true false undef])
    when 4 then pick(%w[bare a::b x-y default File Integer])
    when 5 then pick(["1 + 1", "'a' == 'b'", '!true', '-(1)', "'x' in ['x']", 'true and false', "['a'][0]", '$top', "downcase('A')", "'A'.downcase"])
    when 6, 7 then pick(["'y'", '7'])
    when 8, 9 then "[#{Array.new(@random.rand(3)) { literal(depth + 1) }.join(', ')}#{pick(['', ''])}]"
    else "{#{%w[k 'l' "m"].first(@random.rand(3)).map { |key| "#{key} => #{literal(depth + 1)}" }.join(', ')}}"
    end
  end
end

# Answers of Puppet.
module Answers
  module_function

  def of(manifest)
    answers = NODES.map { |name| [name, of_node(manifest, name)] }
    { 'manifest' => manifest, 'nodes' => answers.reject { |_, answer| answer == :refused }.to_h }
  end

  def of_node(manifest, name)
    Puppet[:code] = manifest
    environment = Puppet::Node::Environment.create(:production, [])
    loaders = Puppet::Pops::Loaders.new(environment)
    Puppet.override(current_environment: environment, loaders: loaders) do
      node = Puppet::Node.new(name, environment: environment)
      node.merge({})
      compiler = Puppet::Parser::Compiler.new(node)
      compiler.compile
      scope = compiler.instance_variable_get(:@node_scope)
      scope ? block(scope) : nil
    end
  rescue Puppet::Error => e
    raise unless /no.*default node|Could not find node statement/i.match?(e.message) || e.is_a?(Puppet::Error)

    e.message.include?('Could not find node statement') ? nil : :refused
  end

  def block(scope)
    own = scope.to_hash(false, true)
    own = own.reject { |key, _| %w[title name caller_module_name module_name].include?(key) }
    { 'line' => scope.source.line, 'set' => own.transform_values { |value| encoded(value) } }
  end

  # What JSON does not have is told as text of its own kind.
  def encoded(value)
    case value
    when nil, true, false, Integer, String then value
    when Array then value.map { |item| encoded(item) }
    when Hash then value.map { |key, item| [encoded(key).to_s, encoded(item)] }.to_h
    else { '__other' => value.class.name }
    end
  end
end

Dir.mktmpdir do |folder|
  Puppet.initialize_settings(['--confdir', folder, '--vardir', folder, '--codedir', folder])
  Puppet::Util::Log.level = :crit
  random = Random.new(29)
  manifests = BY_HAND + Array.new(300) { Pieces.new(random).manifest }
  recorded = manifests.map { |manifest| Answers.of(manifest) }
  path = File.expand_path('../vectors/node_blocks.json', __dir__)
  File.write(path, "[\n#{recorded.map { |one| JSON.generate(one) }.join(",\n")}\n]\n")
  answers = recorded.flat_map { |one| one['nodes'].values }
  puts "#{recorded.size} manifests, #{answers.size} answers, #{answers.count(&:nil?)} without a block"
end
