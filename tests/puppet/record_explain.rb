#!/usr/bin/env ruby
# frozen_string_literal: true

# Records how the real Puppet explains lookups in the cases of tests/vectors/lookup.
#
#   ruby record_explain.rb --puppet8-lib DIR [TOPIC...]
#
# For each TOPIC.txt there it writes tests/vectors/explain/TOPIC.json; the cases' files and nodes are in the
# TOPIC.json that record_lookup.rb beside this file writes:
#
#   [{"name": TEXT,         the case's name
#     "explained": [{"node": NAME, "keys": [KEY...], "only_options": true or absent, "merge": OPTION or absent,
#                    "text": TEXT,   what `puppet lookup --explain` (or `--explain-options`) prints, paths relative to
#                                    the repository, without the error that ends it
#                    "failed": true where an error ends it (no value found among them),
#                    "text8", "failed8": the same of Puppet 8, where it differs
#                    "data": HASH    the same as data, on one lookup of each case}...]
#    }...]
require_relative 'record_lookup'

EXPLAINED = File.expand_path('../vectors/explain', __dir__)
MOST_KEYS = 3

# The explained lookups of a case: its keys one by one on its first node, several at once, options only, another merge.
def lookups(one, keys)
  node = one.profiles.first['name']
  singles = keys.first(MOST_KEYS).map { |key| { 'node' => node, 'keys' => [key] } }
  several = { 'node' => node, 'keys' => ['no such key', *keys.reverse.first(2)] }
  deep = { 'strategy' => 'deep', 'sort_merged_arrays' => false, 'merge_hash_arrays' => true, 'knockout_prefix' => '--' }
  merged = { 'node' => node, 'keys' => keys.first(1), 'merge' => deep }
  options = [keys.first, keys.find { |key| key.include?('::') }].compact.uniq
  singles + [several, merged] + options.map { |key| { 'node' => node, 'keys' => [key], 'only_options' => true } }
end

def explanations(cases, keys, folder, strict, *options)
  requests = write_requests(cases, folder).each_with_index.map do |request, number|
    request.merge('keys' => [], 'explain' => lookups(cases[number], keys[number]))
  end
  ask(requests, strict, *options).map { |answer| answer['explained'] || abort(answer['error']) }
end

def explained(lookup, puppet7, puppet8, with_data)
  entry = lookup.merge('text' => puppet7['text'])
  entry['failed'] = true if puppet7['error']
  entry['text8'] = puppet8['text'] if puppet8['text'] != puppet7['text']
  entry['failed8'] = !puppet8['error'].nil? if puppet8['error'].nil? != puppet7['error'].nil?
  entry['data'] = puppet7['data'] if with_data
  entry
end

def record_explained(topic, puppet8_lib)
  cases = read_topic(File.join(VECTORS, "#{topic}.txt"))
  keys = JSON.parse(File.read(File.join(VECTORS, "#{topic}.json"))).map { |recorded| recorded['keys'] }
  both = [[false], [true, '--puppet-lib', puppet8_lib]].map do |arguments|
    Dir.mktmpdir('hierad_explain') { |folder| explanations(cases, keys, folder, *arguments) }
  end
  lines = cases.each_with_index.map do |one, number|
    pairs = lookups(one, keys[number]).zip(both[0][number], both[1][number])
    entries = pairs.each_with_index.map { |(lookup, *told), at| JSON.generate(explained(lookup, *told, at == 1)) }
    "{\"name\": #{JSON.generate(one.name)}, \"explained\": [\n  #{entries.join(",\n  ")}]}"
  end
  File.write(File.join(EXPLAINED, "#{topic}.json"), "[\n#{lines.join(",\n")}\n]\n")
  puts "#{topic}: #{cases.size} cases, #{both[0].sum(&:size)} lookups explained"
end

# Each run encrypts anew, so an explanation of encrypted data fits no other file.
puppet8_lib, topics = arguments
topics -= ['eyaml']
FileUtils.mkdir_p(EXPLAINED)
topics.each { |topic| record_explained(topic, puppet8_lib) }
