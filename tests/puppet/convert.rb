#!/usr/bin/env ruby
# frozen_string_literal: true

# Asks the real Puppet what `convert_to` in lookup_options makes of values.
#
#   ruby convert.rb [--puppet-lib DIR] [--strict] < requests.ndjson > answers.ndjson
#
# A request is a line {"convert_to": V, "value": V} or {"type": TEXT, "value": V}; the first asks for the conversion,
# the second for what `puppet lookup --type TEXT` says of a found value. Each is answered by a line {"value": V} or
# {"error": TEXT}. Values are written as src/verify/resolve.rb writes them. --puppet-lib is the library folder
# of another Puppet than the installed one; --strict sets Puppet 8's default. Puppet's own cache keeps types between
# requests, as it does between lookups.
require_relative '../../src/verify/resolve'

# Reads a value in its written form.
module RichData
  module_function

  def decode(value)
    case value
    when Array then value.map { |element| decode(element) }
    when Hash then value.key?('__ptype') ? decode_typed(*value.values_at('__ptype', '__pvalue')) : decode_hash(value)
    else value
    end
  end

  def decode_hash(value) = value.to_h { |key, element| [key, decode(element)] }

  def decode_typed(type, text)
    types = Puppet::Pops::Types
    case type
    when 'Hash' then text.each_slice(2).to_h { |key, element| [decode(key), decode(element)] }
    when 'Float' then { 'NaN' => Float::NAN, 'Infinity' => Float::INFINITY, '-Infinity' => -Float::INFINITY }.fetch(text)
    when 'Symbol' then text.to_sym
    when 'BinaryString' then text.unpack1('m0')
    when 'Sensitive' then types::PSensitiveType::Sensitive.new(decode(text))
    when 'Type' then types::TypeParser.singleton.parse(text)
    when 'Regexp' then Regexp.new(text)
    when 'Binary' then types::PBinaryType::Binary.from_base64_strict(text)
    when 'Timestamp' then Puppet::Pops::Time::Timestamp.parse(text)
    when 'Timespan' then Puppet::Pops::Time::Timespan.parse(text)
    when 'SemVer' then SemanticPuppet::Version.parse(text)
    when 'SemVerRange' then SemanticPuppet::VersionRange.parse(text)
    when 'URI' then URI.parse(text)
    else raise "no value of type #{type}"
    end
  end
end

# Answers requests inside a node's compilation.
class Conversions
  KEY = 'k'

  def initialize(compiler)
    @invocation = Puppet::Pops::Lookup::Invocation.new(compiler.topscope, {}, {})
    @adapter = Puppet::Pops::Lookup::LookupAdapter.new(compiler)
  end

  def answer(request)
    value = RichData.decode(request['value'])
    { 'value' => RichData.encode(request.key?('type') ? check(request['type'], value) : convert(request, value)) }
  rescue SignalException, SystemExit
    raise
  rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is, memory too, the lookup fails
    { 'error' => e.message.dup.force_encoding(Encoding::UTF_8).scrub }
  end

  private

  def convert(request, value)
    options = { 'convert_to' => RichData.decode(request['convert_to']) }
    @adapter.convert_result(KEY, options, @invocation, -> { value })
  end

  def check(type, value)
    type = Puppet::Pops::Types::TypeParser.singleton.parse(type)
    Puppet::Pops::Types::TypeAsserter.assert_instance_of("Found value", type, value)
  end
end

# A conversion of a text that is not UTF-8 may end in a text that JSON cannot hold.
def written(answer)
  JSON.generate(answer)
rescue JSON::GeneratorError => e
  JSON.generate({ 'error' => e.message.dup.force_encoding(Encoding::UTF_8).scrub })
end

if $PROGRAM_NAME == __FILE__
  Dir.mktmpdir('hierad_puppet') do |folder|
    puppetry = Puppetry.new(File.realpath(folder))
    repo = File.join(File.realpath(folder), 'repo')
    FileUtils.mkdir_p(repo)
    $stdout.sync = true
    puppetry.with_environment(repo, 'production', ARGV.include?('--strict'), nil, []) do |environment|
      compiler = puppetry.compiler({ 'name' => 'n' }, environment)
      compiler.compile do |catalog|
        conversions = Conversions.new(compiler)
        $stdin.each_line { |line| puts written(conversions.answer(JSON.parse(line))) }
        catalog
      end
    end
  end
end
