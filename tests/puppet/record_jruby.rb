#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what a Ruby reads from the documents in tests/vectors/jruby.ndjson, a case a line:
#   in, in64   the document, as text or in base64; to add a case, add a line with one of these
#   format     `json` for a file of json_data; else it is one of yaml_data
#   odd        true for what only odd data has: hierad need not name it
#   ruby, jruby-9.3, jruby-9.4   the value as that Ruby shows it, or null where it refuses the document
#
# It reads such a file and prints it with what this Ruby says under NAME, so each Ruby adds its part:
#   ruby tests/puppet/record_jruby.rb ruby < tests/vectors/jruby.ndjson
#   jruby -J-Xss2m -I/usr/lib/puppetserver/ruby/vendor_ruby tests/puppet/record_jruby.rb jruby-9.3 < ...
# JRuby 9.3 is a package of Debian 12, 9.4 of Debian 13, each with `puppetserver`; GEM_PATH is
# /usr/lib/puppetserver/vendored-jruby-gems and LC_ALL is C.UTF-8.
Encoding.default_external = Encoding::UTF_8
require 'json'
require 'yaml'
require 'puppet'
require 'puppet/pops'
require 'puppet/util/json'
$VERBOSE = nil

def read(input, format)
  value = format == 'json' ? Puppet::Util::Json.load(input) : Puppet::Util::Yaml.safe_load(input, [Symbol], 'data.yaml')
  value.inspect.dup.force_encoding(Encoding::UTF_8).scrub
rescue Puppet::Util::Yaml::YamlLoadError, Puppet::Util::Json::ParseError
  nil
end

$stdin.each_line do |line|
  record = JSON.parse(line)
  input = record['in64'] ? record['in64'].unpack1('m').force_encoding('UTF-8') : record['in']
  puts JSON.generate(record.merge(ARGV.fetch(0) => read(input.dup, record['format'])))
end
