#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what the real Hiera 3 answers to the cases in tests/vectors/hiera3, so that the tests need no Hiera.
#
#   ruby record_hiera3.rb [TOPIC...]
#
# For each TOPIC.txt, written by hand in the form that record_lookup.rb beside this file describes, it writes
# TOPIC.json: that script's fields, with "priority", "array" and "hash" (the command's default, -a and -h) in place of
# the two Puppets. The answers are the library's, asked through resolve_hiera3.rb; the first case of each topic is
# asked of the command as well, and the two must agree, but where this Ruby is made to take aliases.
require_relative 'record_lookup'

HIERA3 = File.expand_path('../vectors/hiera3', __dir__)
RESOLUTIONS = { 'priority' => [], 'array' => ['-a'], 'hash' => ['-h'] }.freeze

def ask_hiera3(requests, resolution)
  input = requests.map { |request| "#{JSON.generate(request.merge('resolution' => resolution))}\n" }.join
  command = ['ruby', '-W0', '--disable=error_highlight,did_you_mean', File.join(__dir__, '../../src/verify/resolve_hiera3.rb')]
  output, status = Open3.capture2(Eyaml.environment, *command, stdin_data: input)
  abort 'Hiera failed' unless status.success?
  output.gsub("#{Eyaml::KEYS}/", '/keys/').lines.map { |line| JSON.parse(line) }
end

# Checks that the command answers as the library does, for one repository and resolution.
def confirm(request, answer, resolution)
  profile = JSON.parse(File.foreach(request['profiles']).first)
  scope = "#{request['repo']}.scope.json"
  File.write(scope, JSON.generate(Variables.of(profile)))
  node = answer['nodes'].first
  answer['keys'].each do |key|
    next if key.empty? || key.start_with?('-') || JSON.generate(node['values'][key]).include?('__ptype') # JSON cannot tell

    flags = [*RESOLUTIONS[resolution], '-c', 'hiera.yaml', '-f', 'json', '-j', scope]
    output, errors, status = Open3.capture3(Eyaml.environment, 'hiera', *flags, key, chdir: request['repo'])
    said = status.success? ? JSON.parse(output, quirks_mode: true) : nil
    failed = node['errors'].key?(key)
    same = status.success? ? !failed && said == node['values'][key] : failed && errors.include?(node['errors'][key])
    abort "the command differs at #{key} (#{resolution}): #{said.inspect} #{errors.lines.first}" unless same
  end
end

def record_hiera3(topic)
  cases = read_topic(File.join(HIERA3, "#{topic}.txt"))
  Dir.mktmpdir('hierad_vectors') do |folder|
    requests = write_requests(cases, folder)
    answers = RESOLUTIONS.keys.to_h { |resolution| [resolution, ask_hiera3(requests, resolution)] }
    answers.each { |resolution, all| confirm(requests.first, all.first, resolution) } unless requests.first['yaml_aliases']
    recorded = cases.each_with_index.map { |one, number| hiera3_entry(one, answers.transform_values { |all| all[number] }) }
    write_recorded(File.join(HIERA3, "#{topic}.json"), recorded)
    count = answers.values.flatten.flat_map { |answer| answer['nodes'] }.sum { |node| node['values'].size + node['errors'].size }
    puts "#{topic}: #{cases.size} cases, #{count} answers"
  end
end

def hiera3_entry(one, answers)
  fault = answers.values.filter_map { |answer| answer['error'] }.first
  abort "#{one.name}: #{fault}" if fault
  fields = { name: one.name, **one.paths.transform_keys(&:to_sym), fixture: one.parts, nodes: one.profiles, keys: answers['priority']['keys'] }
  fields.merge(answers.transform_values { |answer| answer['nodes'] })
end

if $PROGRAM_NAME == __FILE__
  require_relative '../../src/verify/resolve_hiera3'
  topics = ARGV.empty? ? Dir.glob(File.join(HIERA3, '*.txt')).sort.map { |path| File.basename(path, '.txt') } : ARGV
  topics.each { |topic| record_hiera3(topic) }
end
