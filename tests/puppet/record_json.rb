#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what the real Puppet reads from the JSON in tests/vectors/json.ndjson, a case a line:
#   in, in64  the document, as text or in base64; to add a case, add a line with one of these and run this script
#   value     the value as JSON, rich data where JSON has none
#   pretty    the value as JSON.pretty_generate writes it, where JSON has it and no collection in it is empty
#   error     the message of Puppet's error instead
ENV['LC_ALL'] = 'C.UTF-8'
Encoding.default_external = Encoding::UTF_8
require 'json'
require 'puppet'
require_relative 'rich'
$VERBOSE = nil

def plain?(value)
  json = JSON.generate(value, max_nesting: 0)
  json == Rich.json(value) && !json.match?(/\[\]|\{\}/)
rescue JSON::GeneratorError
  false
end

Rich.record(File.expand_path('../vectors/json.ndjson', __dir__)) do |input|
  value = Puppet::Util::Json.load(input)
  result = { 'value' => Rich.json(value) }
  result['pretty'] = JSON.pretty_generate(value) if plain?(value)
  result
rescue Puppet::Util::Json::ParseError => e
  { 'error' => e.message.dup.force_encoding('UTF-8').scrub }
end
