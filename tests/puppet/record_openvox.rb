#!/usr/bin/env ruby
# frozen_string_literal: true

# Records where OpenVox 9 answers the cases of tests/vectors/lookup otherwise than Puppet 8 did on Ruby 3.1, into
# tests/vectors/openvox.json:
#
#   {RUBY: {"TOPIC: NAME": [[NODE, KEY, {"value": VALUE} or {"error": TEXT} or {}]...]}}
#
# {} is a key that is not found. Where both fail, a text is recorded if it names OpenVox: others are Ruby's own.
#
#   ruby record_openvox.rb VERSION=PROGRAM... [-- TOPIC...]       compares with what is recorded where topics are named
#
# PROGRAM is a Ruby of that VERSION that has OpenVox 9, such as `tests/puppet/openvox 3.4`. The VERSION jruby-9.4 has
# Puppet 8, see record_jruby.rb, and is asked for floats and URIs alone. Versions that are not named keep what is recorded of them.
require_relative 'record_lookup'

# Ruby 3.3 ends with a segmentation fault on some of their broken blocks (OpenSSL's PKCS7#recipients).
LEFT_OUT = %w[eyaml eyaml_secrets].freeze

# Not recorded: the gem deep_merge is a newer one there; hierad joins hashes in `unpack_arrays` as Ruby 3.1 does.
LEFT_OUT_CASES = ['spec_deep_merge: an option that the gem does not have yet', 'spec_deep_merge: unpack_arrays'].freeze

RECORDED = File.expand_path('../vectors/openvox.json', __dir__)

# What JRubies are asked for.
OF_JRUBY = %w[floats uris].freeze

def ask_openvox(version, program, requests)
  input = requests.map { |request| "#{JSON.generate(request.merge('strict' => true))}\n" }.join
  quiet = version.start_with?('jruby') ? [] : ['--disable=error_highlight,did_you_mean']
  command = [*program.split, '-W0', *quiet, RESOLVE]
  output, status = Open3.capture2(Eyaml.environment, *command, stdin_data: input)
  abort "#{program} failed" unless status.success?
  output.gsub("#{Eyaml::KEYS}/", '/keys/').lines.map { |line| JSON.parse(line) }
end

def answer(node, key)
  return { 'value' => node['values'][key] } if node['values'].key?(key)

  node['errors'].key?(key) ? { 'error' => node['errors'][key] } : {}
end

def same?(puppet, openvox)
  return puppet == openvox unless puppet['error'] && openvox['error']

  puppet == openvox || !openvox['error'].include?('OpenVox')
end

# The differences of a topic. Encrypted texts are others on each day.
def differences(topic, version, program)
  cases = read_topic(File.join(VECTORS, "#{topic}.txt"))
  recorded = recorded_cases(topic).to_h { |one| [one['name'], one] }
  Dir.mktmpdir('hierad_vectors') do |folder|
    requests = write_requests(cases, folder)
    told = ask_openvox(version, program, requests.flatten)
    cases.zip(requests).to_h do |one, own|
      answered = joined(one, told.shift(own.size))
      keys = recorded[one.name]['keys'] & answered['keys'].to_a
      found = recorded[one.name]['puppet8'].zip(answered['nodes'].to_a).flat_map { |puppet, openvox| of_node(keys, puppet, openvox) }
      ["#{topic}: #{one.name}", found]
    end.reject { |name, found| found.empty? || LEFT_OUT_CASES.include?(name) }
  end
end

def of_node(keys, puppet, openvox)
  keys.filter_map do |key|
    of_puppet, of_openvox = [puppet, openvox].map { |node| answer(node, key) }
    [puppet['node'], key, of_openvox] unless same?(of_puppet, of_openvox) || [of_puppet, of_openvox].to_s.include?('ENC[')
  end
end

if $PROGRAM_NAME == __FILE__
  programs = ARGV.take_while { |argument| argument != '--' }.to_h { |argument| argument.split('=', 2) }
  topics = ARGV.drop_while { |argument| argument != '--' }.drop(1)
  all = Dir.glob(File.join(VECTORS, '*.txt')).sort.map { |path| File.basename(path, '.txt') } - LEFT_OUT
  found = programs.to_h do |version, program|
    own = version.start_with?('jruby') ? OF_JRUBY : all
    own &= topics unless topics.empty?
    [version, own.map { |topic| differences(topic, version, program) }.reduce({}, :merge)]
  end
  if topics.empty?
    lines = JSON.parse(File.read(RECORDED)).merge(found).map do |version, cases|
      "#{JSON.generate(version)}: {\n#{cases.map { |name, one| "#{JSON.generate(name)}: #{JSON.generate(one)}" }.join(",\n")}}"
    end
    File.write(RECORDED, "{#{lines.join(",\n")}}\n")
  else
    recorded = JSON.parse(File.read(RECORDED))
    found.each do |version, cases|
      expected = recorded[version].select { |name, _| topics.include?(name.split(': ').first) }
      abort "OpenVox on Ruby #{version}: other than recorded:\n#{JSON.pretty_generate(cases)}" unless cases == expected
    end
  end
  found.each { |version, cases| puts "Ruby #{version}: #{cases.values.sum(&:size)} other answers in #{cases.size} cases" }
end
