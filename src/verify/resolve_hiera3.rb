#!/usr/bin/env ruby
# frozen_string_literal: true

# Asks the real Hiera 3 for the value of every key on every node profile, for many data repositories in one process.
#
#   ruby resolve_hiera3.rb < requests.ndjson > answers.ndjson
#
# Requests and answers are those of resolve.rb beside this file, with "resolution" (priority, array or hash; priority
# if not given) in place of "strict", and "whole_keys" where it goes for keys without dots and quotes only, since
# Hiera refuses to merge parts of values; those are asked for by priority. "resolutions" are those of single keys, a
# hash among them being {"behavior": NAME} with options of the merge; "yaml_aliases" has aliases taken. A request
# {"version": true} is answered by {"hiera": VERSION, "ruby": VERSION}. The answers are those of the command `hiera -c hiera.yaml` in
# the root of the repository: each lookup starts with nothing read. Scope is a hash, as the command makes one of
# facts: what Puppet's top scope of the node has, each variable as `name` and as `::name`.
require_relative 'resolve'
require 'hiera'
require 'hiera/backend/eyaml_backend'

# The variables of a node.
module Variables
  module_function

  def of(profile)
    name, environment = profile['name'], profile['environment'] || 'production'
    facts = profile['facts'] || {}
    scope = { 'clientcert' => name }.merge(facts, profile['variables'] || {})
    scope.merge!('environment' => environment, 'trusted' => trusted(name, profile), 'facts' => facts,
                 'server_facts' => { 'environment' => environment }, 'module_name' => '', 'title' => 'main',
                 'name' => 'main')
    scope.merge(scope.transform_keys { |key| "::#{key}" })
  end

  def trusted(name, profile)
    hostname, domain = name.split('.', 2)
    { 'authenticated' => 'remote', 'certname' => name, 'hostname' => hostname, 'domain' => domain, 'extensions' => {},
      'external' => {} }.merge(profile['trusted'] || {})
  end
end

# Has Hiera read YAML as on a Ruby before 3.1, whose `YAML.load` takes aliases, where the request says so.
module Aliases
  class << self
    attr_accessor :taken
  end

  def load(yaml, **options) = Aliases.taken ? unsafe_load(yaml) : super

  def load_file(path, **options) = Aliases.taken ? unsafe_load_file(path) : super

  YAML.singleton_class.prepend(self)
end

# Holds all levels to the folders of the request.
module ConfinedFiles
  def datafile_in(*)
    file = super
    file if file && Confined.inside?(file)
  end

  Hiera::Backend.singleton_class.prepend(self)
end

# Answers one request.
class Hiera3Resolution
  # A default that is text would be interpolated.
  NOT_FOUND = Object.new.freeze
  # A whole key, however many dots it has.
  QUOTED = /\A(?:'[^']*'|"[^"]*")\z/.freeze

  attr_reader :keys

  def initialize(request)
    @repo = File.realpath(request['repo'])
    @profiles = Inputs.profiles(request['profiles'])
    @keys = (request['keys'] || Inputs.keys([@repo])) | (request['more_keys'] || [])
    @keys_of = request['keys_of']
    @resolution = request['resolution'] || 'priority'
    @resolutions = request['resolutions'] || {}
    @whole_keys = request['whole_keys']
  end

  def nodes = Dir.chdir(@repo) { @profiles.map { |profile| node(profile) } }

  private

  def node(profile)
    line = { 'node' => profile['name'], 'values' => {}, 'errors' => {}, 'not_asked' => [] }
    scope = Variables.of(profile)
    (@keys_of ? @keys_of[line['node']] : @keys).each { |key| answer(key, scope, line) }
    line
  end

  def answer(key, scope, line)
    NotAsked.noted = false
    value = fresh_hiera.lookup(key, NOT_FOUND, scope, nil, resolution(key))
    line['values'][key] = RichData.encode(value) unless value.equal?(NOT_FOUND)
  rescue *Resolution::FATAL
    raise
  rescue Exception => e
    line['errors'][key] = e.message.dup.force_encoding(Encoding::UTF_8).scrub
  ensure
    line['not_asked'] << key if NotAsked.noted
  end

  def resolution(key)
    return :priority if @whole_keys && key.match?(/['".]/) && !key.match?(QUOTED)

    resolution = @resolutions[key] || @resolution
    resolution.is_a?(Hash) ? resolution.transform_keys(&:to_sym) : resolution.to_sym
  end

  def fresh_hiera
    Hiera::Backend.clear!
    Hiera::Backend::Eyaml::Options.set({})
    hiera = Hiera.new(config: 'hiera.yaml')
    Hiera.logger = 'noop'
    hiera
  end
end

if $PROGRAM_NAME == __FILE__
  serve do |request|
    next { 'hiera' => Hiera::VERSION, 'ruby' => RUBY } if request['version']

    ChosenKeys.choose(request['eyaml'])
    Aliases.taken = request['yaml_aliases']
    Confined.confine(request)
    resolution = Hiera3Resolution.new(request)
    held(request) { { 'repo' => request['repo'], 'keys' => resolution.keys, 'nodes' => resolution.nodes } }
  end
end
