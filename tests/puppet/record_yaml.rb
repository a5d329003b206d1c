#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what the real Puppet reads from the YAML in tests/vectors/yaml.ndjson, a case a line:
#   in, in64  the document, as text or in base64; to add a case, add a line with one of these and run this script
#   value     the value as JSON, rich data where JSON has none
#   strings   the same with symbol keys as strings, as yaml_data has it, where it differs
#   inspect   the value as Ruby shows it
#   lines     a tree of the lines of keys and items, for documents without aliases, tags and merges
#   error     Puppet's message instead, its first line
#   endless   true instead, where an alias makes the value contain itself: Puppet runs out of stack
ENV['LC_ALL'] = 'C.UTF-8'
Encoding.default_external = Encoding::UTF_8
require 'json'
require 'yaml'
require 'puppet'
require 'puppet/pops'
require_relative 'rich'
$VERBOSE = nil

# A collection's tree: one [line, tree] for each entry.
def lines(node)
  case node
  when Psych::Nodes::Sequence then node.children.map { |item| [item.start_line + 1, lines(item)] }
  when Psych::Nodes::Mapping then node.children.each_slice(2).map { |key, item| [key.start_line + 1, lines(item)] }
  else []
  end
end

def plain?(node, value)
  return false if node.is_a?(Psych::Nodes::Alias) || (node.respond_to?(:tag) && node.tag)

  case node
  when Psych::Nodes::Mapping
    pairs = node.children.each_slice(2).to_a
    value.is_a?(Hash) && value.size == pairs.size && pairs.each_with_index.all? do |(key, item), at|
      plain?(key, nil) && !(key.is_a?(Psych::Nodes::Scalar) && key.value == '<<') && plain?(item, value.values[at])
    end
  when Psych::Nodes::Sequence
    value.is_a?(Array) && node.children.each_with_index.all? { |item, at| plain?(item, value[at]) }
  else true
  end
end

# A string of !binary that happens to be UTF-8 is shown as text here, and by its bytes in Ruby.
def shown_alike?(value)
  case value
  when String then value.encoding != Encoding::BINARY || value.ascii_only? || !value.dup.force_encoding('UTF-8').valid_encoding?
  when Array then value.all? { |item| shown_alike?(item) }
  when Hash then value.all? { |pair| shown_alike?(pair) }
  else true
  end
end

Rich.record(File.expand_path('../vectors/yaml.ndjson', __dir__)) do |input|
  Puppet::Util::Yaml.safe_load(input, [Symbol], 'data.yaml')
  value = YAML.safe_load(input, permitted_classes: [Symbol], aliases: true)
  strings = Rich.json(Puppet::Pops::Lookup::HieraConfig.symkeys_to_string(value))
  result = { 'value' => Rich.json(value) }
  result['strings'] = strings unless strings == result['value']
  result['inspect'] = value.inspect if shown_alike?(value)
  root = Psych.parse(input)
  result['lines'] = lines(root.root) if root && plain?(root.root, value) && !lines(root.root).empty?
  result
rescue SystemStackError
  { 'endless' => true }
rescue Puppet::Util::Yaml::YamlLoadError => e
  { 'error' => e.message.lines.first.chomp }
end
