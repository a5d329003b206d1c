#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what the gem behind Puppet's hocon_data reads from HOCON documents, a case a line:
#   in, in64  the document, as text or in base64
#   value     the value as JSON, rich data where JSON has none
#   error     the message of the gem's own error instead, which Puppet puts behind "Unable to parse (FILE): "
#   exception the class of any other error instead: a mistake in the gem
# Without arguments it records tests/vectors/hocon.ndjson anew; to add a case, add a line with the document and run
# this script. With `--random COUNT --seed SEED` it prints cases of random documents, for HIERAD_HOCON_CASES in
# tests/it/vectors_hocon.rs.
ENV.replace('LC_ALL' => 'C.UTF-8', 'HOME' => '/', 'PATH' => ENV.fetch('PATH'))
Encoding.default_external = Encoding::UTF_8
require 'json'
require 'timeout'
require 'hocon'
require 'hocon/config_error'
require 'hocon/config_factory'
require 'hocon/config_resolve_options'
require_relative 'hocon_documents'
require_relative 'rich'
$VERBOSE = nil

# The gem's answer depends on earlier documents, so each has a process of its own.
def read(input)
  reader, writer = IO.pipe
  child = fork do
    reader.close
    writer.write(JSON.generate(answer(input)))
    writer.close
    exit!
  end
  writer.close
  JSON.parse(reader.read)
ensure
  reader.close
  Process.wait(child)
end

# Puppet hands the gem the content of the file, as text.
def answer(input)
  value = Timeout.timeout(10) { Hocon.parse(input) }
  { 'value' => Rich.json(value) }
rescue Hocon::ConfigError => e
  { 'error' => e.message.dup.force_encoding('UTF-8').scrub }
rescue Timeout::Error
  nil
rescue SystemStackError, ScriptError, StandardError => e
  { 'exception' => e.class.name }
end

def random(count, seed)
  documents = HoconDocuments.new(Random.new(seed))
  count.times do
    input = documents.document
    result = read(input.dup) or next
    document = input.valid_encoding? ? { 'in' => input } : { 'in64' => [input].pack('m0') }
    puts JSON.generate(document.merge(result))
  end
end

if ARGV[0] == '--random'
  random(Integer(ARGV[1]), Integer(ARGV[3]))
else
  Rich.record(File.expand_path('../vectors/hocon.ndjson', __dir__)) { |input| read(input) || raise("endless: #{input}") }
end
