#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what the real Puppet answers to the cases in tests/vectors/lookup, so that the tests need no Puppet.
#
#   ruby record_lookup.rb --puppet8-lib DIR [TOPIC...]
#
# The installed Puppet is version 7 and is asked with its defaults; DIR (or PUPPET8_LIB) is the library folder of a
# Puppet 8, which is asked with strict on, its default. For each TOPIC.txt, written by hand, it writes TOPIC.json:
#
#   {"files": [TEXT...],    each file of the cases: a line "-- PATH", or "-- PATH -> TARGET" for a symbolic link, and its text
#    "profiles": [[PROFILE...]...], the nodes of a case: {name, environment, facts, trusted, variables}
#    "cases": [
#    {"name": TEXT,         the case's name, unique in its topic
#     "global": PATH,       the hiera.yaml of the global layer, if it has one
#     "basemodulepath": PATH, a folder of modules for $basemodulepath, if it has one
#     "hiera_config": PATH, the hiera.yaml of each environment, if there are several: FOLDER/%{environment}/hiera.yaml
#     "settings": PATH,     a file whose lookup_options hierad gets as settings in place of the file, if there is one
#     "merge": OPTION,      the merge that was asked for, if one was
#     "manifest": TEXT,     Puppet code in the top scope, if there is some
#     "variables": TEXT,    the settings that mean the same, in JSON
#     "fixture": [NUMBER...], the repository: which of the files
#     "nodes": NUMBER,      which of the profiles
#     "keys": [...],        what was looked up, in this order: all root keys of the data, then the case's own
#     "puppet7": [{"node": NAME, "values": {KEY: VALUE}, "errors": {KEY: TEXT}}...], in the order of the profiles;
#                           a key that is not found is in neither
#     "puppet8": ...        the same of Puppet 8, where it differs
#    }...]}
#
# Values that JSON cannot hold are written as src/verify/resolve.rb does. Answers are never edited.
#
# TOPIC.txt: cases, each from a line "==== NAME". Its header is some of
#   nodes: JSON             its profiles; "environment" is production where not given
#   keys: JSON              keys to look up beside the root keys of the data
#   without: PATH           a shared file that this case does not have
#   merge: JSON             the merge to ask for, instead of what lookup_options say
#   global: PATH            the hiera.yaml of the global layer, in the fixture; there is no such layer without it
#   basemodulepath: PATH    a folder of the fixture that $basemodulepath stands for
#   hiera_config: PATH      the hiera.yaml of each environment; the keys are those of the case alone then
#   yaml_aliases: true      Hiera 3 takes aliases in YAML, as on a Ruby before 3.1
#   settings: PATH          a file of options of the highest priority, which hierad gets as settings
#   manifest: CODE          Puppet code that is evaluated in the top scope before the lookups
#   variables: JSON         the variables that hierad's settings have in its place
#   # TEXT                  a remark
# and ends at the first "-- PATH". <<TEXT>> in a file is encrypted, see eyaml.rb beside this file. What stands before
# the first case is shared: its files, nodes and keys go for every case that has none of its own of that name.
require 'fileutils'
require 'json'
require 'open3'
require 'tmpdir'
require_relative 'eyaml'

RESOLVE = File.join(__dir__, '../../src/verify/resolve.rb')
VECTORS = File.expand_path('../vectors/lookup', __dir__)

# A repository, its nodes and the keys to ask for.
Case = Struct.new(:name, :files, :nodes, :keys, :merge, :paths) do
  def self.parse(name, text, shared = nil)
    header, *parts = text.split(/^-- (?=\S)/)
    fields = header.lines.grep(/\A\w+:/).map { |line| line.chomp.split(': ', 2) }
    files = shared ? shared.files.dup : {}
    fields.each { |field, value| files.delete(value) if field == 'without' }
    files.merge!(parts.to_h { |part| file(part) })
    one = ->(field) { fields.assoc(field)&.then { |_, value| JSON.parse(value) } }
    paths = %w[global basemodulepath hiera_config settings yaml_aliases manifest variables].to_h { |field| [field, fields.assoc(field)&.last] }.compact
    paths = (shared&.paths || {}).merge(paths)
    new(name, files, one['nodes'] || shared&.nodes || [], one['keys'] || shared&.keys || [], one['merge'], paths)
  end

  # Blank lines before the next case are for the reader only.
  def self.file(part)
    path, content = part.split("\n", 2)
    [path, Eyaml.expand(content.to_s.sub(/\n+\z/, "\n").sub(/\A\n\z/, ''))]
  end

  def profiles = nodes.map { |node| { 'name' => node['name'], 'environment' => 'production' }.merge(node) }

  def parts = files.map { |path, content| "-- #{path}\n#{content}" }

  def fixture = parts.join

  def write(folder)
    files.each do |path, content|
      path, target = path.split(' -> ', 2)
      path = File.join(folder, path)
      FileUtils.mkdir_p(File.dirname(path))
      target ? File.symlink(target, path) : File.write(path, here(content))
    end
  end
end

# Paths of keys, as this machine has them.
def here(text) = text.gsub('/keys/', "#{Eyaml::KEYS}/")

def read_topic(path)
  text = File.read(path)
  head, *cases = text.split(/^==== /)
  shared = Case.parse(nil, head)
  cases = cases.map { |part| Case.parse(*part.split("\n", 2), shared) }
  doubled = cases.map(&:name).tally.select { |_, count| count > 1 }.keys
  abort "#{path}: two cases named #{doubled.first}" unless doubled.empty?
  cases
end

def write_requests(cases, folder)
  cases.each_with_index.map do |one, number|
    repo = File.join(folder, number.to_s)
    profiles = "#{repo}.ndjson"
    FileUtils.mkdir_p(repo)
    one.write(repo)
    File.write(profiles, one.profiles.map { |profile| "#{here(JSON.generate(profile))}\n" }.join)
    request = { 'repo' => repo, 'profiles' => profiles, 'more_keys' => one.keys, 'merge' => one.merge }
    request['manifest'] = one.paths['manifest'] if one.paths['manifest']
    request['yaml_aliases'] = true if one.paths['yaml_aliases']
    request['global'] = File.join(repo, one.paths['global']) if one.paths['global']
    request['basemodulepath'] = [File.join(repo, one.paths['basemodulepath'])] if one.paths['basemodulepath']
    one.paths['hiera_config'] ? requests_of_environments(request, one) : [request]
  end
end

# A request for each environment, which lies in a folder of its own.
def requests_of_environments(request, one)
  around = File.join(request['repo'], one.paths['hiera_config'].split('/%{environment}').first)
  one.profiles.group_by { |profile| profile['environment'] }.map do |name, profiles|
    path = "#{request['repo']}.#{name}.ndjson"
    File.write(path, profiles.map { |profile| "#{here(JSON.generate(profile))}\n" }.join)
    request.merge('repo' => File.join(around, name), 'environmentpath' => around, 'profiles' => path, 'keys' => one.keys)
  end
end

# The answers to the requests of a case as one, with the nodes in the order of its profiles.
def joined(one, answers)
  nodes = answers.flat_map { |answer| answer['nodes'] || [] }.to_h { |node| [node['node'], node.except('not_asked')] }
  fault = answers.find { |answer| answer['error'] }
  fault || { 'keys' => answers.first['keys'], 'nodes' => one.profiles.map { |profile| nodes[profile['name']] } }
end

# Ruby's error messages come without what some versions of it add: excerpts of Puppet's source and guesses.
def ask(requests, strict, *options)
  input = requests.map { |request| "#{JSON.generate(request.merge('strict' => strict))}\n" }.join
  command = ['ruby', '-W0', '--disable=error_highlight,did_you_mean', RESOLVE, *options]
  output, status = Open3.capture2(Eyaml.environment, *command, stdin_data: input)
  abort 'Puppet failed' unless status.success?
  output.gsub("#{Eyaml::KEYS}/", '/keys/').lines.map { |line| JSON.parse(line) }
end

def record(topic, puppet8_lib)
  cases = read_topic(File.join(VECTORS, "#{topic}.txt"))
  Dir.mktmpdir('hierad_vectors') do |folder|
    requests = write_requests(cases, folder)
    asked = [ask(requests.flatten, false), ask(requests.flatten, true, '--puppet-lib', puppet8_lib)]
    answers = cases.zip(requests).map { |one, own| asked.map { |told| joined(one, told.shift(own.size)) } }
    recorded = cases.zip(answers).map { |one, (puppet7, puppet8)| entry(one, puppet7, puppet8) }
    write_recorded(File.join(VECTORS, "#{topic}.json"), recorded)
    count = answers.flatten.flat_map { |answer| answer['nodes'] }.sum { |node| node['values'].size + node['errors'].size }
    puts "#{topic}: #{cases.size} cases, #{count} answers"
  end
end

def entry(one, puppet7, puppet8)
  fault = puppet7['error'] || puppet8['error'] || (puppet7['keys'].empty? && 'no keys to look up')
  abort "#{one.name}: #{fault}" if fault
  { name: one.name, **one.paths.transform_keys(&:to_sym), merge: one.merge, fixture: one.parts, nodes: one.profiles,
    keys: puppet7['keys'], puppet7: puppet7['nodes'], puppet8: puppet8['nodes'] }.compact
end

# Writes each file, each list of nodes and each answer once.
def write_recorded(path, cases)
  files = cases.flat_map { |one| one[:fixture] }.uniq
  profiles = cases.map { |one| one[:nodes] }.uniq
  lines = cases.map do |one|
    shared = { fixture: one[:fixture].map { |file| files.index(file) }, nodes: profiles.index(one[:nodes]) }
    fields(one.merge(shared).reject { |field, answers| field == :puppet8 && answers == one[:puppet7] })
  end
  parts = [files, profiles].map { |part| part.map { |one| JSON.generate(one) }.join(",\n") } + [lines.join(",\n")]
  text = "{\"files\": [\n%s],\n\"profiles\": [\n%s],\n\"cases\": [\n%s\n]}\n"
  File.write(path, format(text, *parts))
end

# A field a line, so that a change of one answer is a change of one line.
def fields(one) = "{#{one.map { |field, value| "#{JSON.generate(field)}: #{JSON.generate(value)}" }.join(",\n ")}}"

# The recorded cases of a topic, with the answers of both.
def recorded_cases(topic)
  cases = JSON.parse(File.read(File.join(VECTORS, "#{topic}.json")))['cases']
  cases.map { |one| { 'puppet8' => one['puppet7'] }.merge(one) }
end

# The library of Puppet 8 and the topics that the command line names, or all.
def arguments
  puppet8_lib = ENV.fetch('PUPPET8_LIB', nil)
  topics = ARGV.dup
  _, puppet8_lib = topics.shift(2) if topics.first == '--puppet8-lib'
  abort 'need --puppet8-lib DIR or PUPPET8_LIB' unless puppet8_lib && File.directory?(puppet8_lib)
  topics = Dir.glob(File.join(VECTORS, '*.txt')).sort.map { |path| File.basename(path, '.txt') } if topics.empty?
  [puppet8_lib, topics]
end

if $PROGRAM_NAME == __FILE__
  puppet8_lib, topics = arguments
  topics.each { |topic| record(topic, puppet8_lib) }
end
