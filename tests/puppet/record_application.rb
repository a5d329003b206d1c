#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what the real `puppet lookup` prints, and how it ends, in the cases of tests/vectors/application.
#
#   ruby record_application.rb --puppet8-lib DIR [TOPIC...]
#
# For each TOPIC.txt, written by hand in the form that record_lookup.rb beside this file describes, it writes
# TOPIC.json. A case has lines "$ ARGUMENTS" beside its fields, one for each run; Puppet knows the facts of the case's
# nodes.
#
#   [{"name": TEXT, "fixture": TEXT, "profiles": [...],   as in the cases of lookups
#     "runs": [{"arguments": [TEXT...], "status": N, "out": TEXT, "err": TEXT,   paths relative to the repository
#               "puppet8": {"status", "out", "err"}   what is other in Puppet 8, if anything is
#              }...]
#    }...]
require_relative 'record_lookup'
require 'shellwords'
require 'yaml'

APPLICATION = File.expand_path('../vectors/application', __dir__)
ENVIRONMENTS = %w[production test].freeze

def commands(topic)
  cases = File.read(File.join(APPLICATION, "#{topic}.txt")).split(/^==== /).drop(1)
  cases.map { |text| text.split(/^-- (?=\S)/).first.scan(/^\$(.*)$/).map { |(line)| line.shellsplit } }
end

# A Puppet whose environments are the case's files, and which knows its nodes' facts.
def install(one, folder)
  environments, facts = %w[code/environments var/yaml/facts].map { |name| File.join(folder, name) }
  FileUtils.mkdir_p([environments, facts, File.join(folder, 'conf')])
  one.write(File.join(folder, 'repository').tap { |repository| FileUtils.mkdir_p(repository) })
  ENVIRONMENTS.each { |name| File.symlink(File.join(folder, 'repository'), File.join(environments, name)) }
  one.profiles.each do |profile|
    content = { 'name' => profile['name'], 'values' => profile['facts'] || {} }.to_yaml
    File.write(File.join(facts, "#{profile['name']}.yaml"), content.sub('---', '--- !ruby/object:Puppet::Node::Facts'))
  end
end

def runs(cases, commands, folder, *options)
  requests = cases.each_with_index.flat_map do |one, number|
    install(one, File.join(folder, number.to_s))
    commands[number].map { |arguments| { 'folder' => File.join(folder, number.to_s), 'arguments' => arguments } }
  end
  input = requests.map { |request| "#{JSON.generate(request)}\n" }.join
  command = ['ruby', '-W0', '--disable=error_highlight,did_you_mean', File.join(__dir__, 'application.rb'), *options]
  output, status = Open3.capture2(*command, stdin_data: input)
  abort 'Puppet failed' unless status.success?
  own = %r{#{Regexp.escape(folder)}/\d+/(?:code/environments/(?:#{ENVIRONMENTS.join('|')})|repository)/}
  requests.zip(output.lines).map { |request, line| request.slice('arguments').merge(JSON.parse(line.gsub(own, ''))) }
end

def record_application(topic, puppet8_lib)
  cases = read_topic(File.join(APPLICATION, "#{topic}.txt"))
  commands = commands(topic)
  puppet7, puppet8 = [[], ['--puppet-lib', puppet8_lib]].map do |options|
    Dir.mktmpdir('hierad_application') { |folder| runs(cases, commands, File.realpath(folder), *options) }
  end
  lines = puppet7.zip(puppet8).map do |seven, eight|
    other = eight.reject { |field, value| seven[field] == value }
    JSON.generate(other.empty? ? seven : seven.merge('puppet8' => other))
  end
  written = cases.each_with_index.map do |one, number|
    fields = { name: one.name, fixture: one.fixture, profiles: one.profiles }
    fields = fields.map { |field, value| "#{JSON.generate(field)}: #{JSON.generate(value)}" }.join(",\n ")
    "{#{fields},\n \"runs\": [\n  #{lines.shift(commands[number].size).join(",\n  ")}]}"
  end
  File.write(File.join(APPLICATION, "#{topic}.json"), "[\n#{written.join(",\n")}\n]\n")
  puts "#{topic}: #{cases.size} cases, #{puppet7.size} runs"
end

puppet8_lib, topics = arguments
topics = Dir.glob(File.join(APPLICATION, '*.txt')).sort.map { |path| File.basename(path, '.txt') } if ARGV.empty?
topics.each { |topic| record_application(topic, puppet8_lib) }
