#!/usr/bin/env ruby
# frozen_string_literal: true

# Asks the real Puppet for the value of every key on every node profile, for many data repositories in one process.
#
#   ruby resolve.rb [--puppet-lib DIR] < requests.ndjson > answers.ndjson
#
# A request is a line {"repo": DIR, "profiles": PATH, "strict": bool, "keys": [KEY...] or null}:
# - repo: a checked-out repository; it is used as the environment that the profiles name (all must name the same one);
# - profiles: a folder of *.yaml / *.json, or one .ndjson; each {name, environment, facts, trusted, variables};
# - limit: (optional) how many of the profiles to take, the first ones;
# - strict: (optional) Puppet 8's defaults (strict=error, strict_variables on) or Puppet 7's; otherwise those of the
#   version;
# - keys: what to look up; null is every root key of every YAML and JSON file in the repository, lookup_options aside;
# - more_keys: (optional) keys to look up after those;
# - keys_of: (optional) {NODE: [KEY...]}: what to look up on each node, in place of all these.
# - merge: (optional) the merge to ask for, instead of what lookup_options say.
# - global: (optional) the hiera.yaml of the global layer; without it there is no such layer;
# - basemodulepath: (optional) folders of modules, for $basemodulepath.
# The root keys of files in these two folders are looked up as well, last, and only values told of; not with keys_of.
# - environmentpath: (optional) the folder in which the environment is: in hiera.yaml `..` leads there. The repository
#   is linked there by the environment's name, unless something of that name is there already.
# - manifest: (optional) Puppet code that is evaluated in the top scope before the lookups.
# - eyaml: (optional) {"pkcs7_private_key": FILE...}: the key pair for all encrypted data, in place of those that
#   options name.
# - within: (optional) folders: levels find no files but those in them, wherever links lead.
# - global_reads_all: (optional) true if that does not hold for levels of the global layer.
# - eyaml_allowed: (optional, with --data-only) {"files": [GLOB...], "variables": [NAME...]}: the keys that may be read.
# - explain: (optional) lookups to explain, each
#   {"node": NAME, "keys": [KEY...], "merge": OPTION, "only_options": bool} (merge and only_options optional); the
#   answer has "explained": [{"text": TEXT, "data": HASH, "error": TEXT or null}...] in their order: what
#   `puppet lookup --explain` writes, the error that ends it aside, each as in a process of its own.
# Each is answered by a line
#   {"repo": DIR, "keys": [KEY...], "nodes": [{"node": NAME, "values": {KEY: VALUE}, "errors": {KEY: TEXT}}...]}
# in the order of requests; a key that is not found is in neither. A repository that cannot be asked at all has
# {"repo": DIR, "error": TEXT}. --puppet-lib is the library folder of another Puppet than the installed one.
#
# Values JSON cannot hold are in Puppet's rich data form, see `Encoding`. Paths in error texts are relative to the
# repository. With --data-only no code of the repository is loaded, and no file is opened but those of the request; each
# node has "not_asked": [KEY...], the keys that would take such code or files, whatever else is said of them.
# A request {"version": true} is answered by {"puppet": VERSION, "ruby": VERSION}. Repositories never influence each other: each has its
# own environment, loaders, caches and compilers.
ENV['LC_ALL'] = 'C.UTF-8'
ENV['TZ'] = 'UTC'
Encoding.default_external = Encoding::UTF_8
require 'fileutils'
require 'json'
require 'tmpdir'
require 'yaml'
ARGV.each_cons(2) { |flag, dir| $LOAD_PATH.unshift(File.expand_path(dir)) if flag == '--puppet-lib' }
require 'puppet'
require 'puppet/pops'
require 'puppet/parser/compiler'

# The version of Ruby as hierad's settings write it.
RUBY = RUBY_ENGINE == 'jruby' ? "jruby-#{JRUBY_VERSION}" : RUBY_VERSION

# A value that JSON cannot hold becomes {"__ptype": TYPE, "__pvalue": TEXT}; a hash whose keys are not all strings
# becomes {"__ptype": "Hash", "__pvalue": [k, v, k, v...]}. Beyond Puppet's own form: Float for what is not finite,
# BinaryString (base64) for a string that is not UTF-8.
module RichData
  NAMES = {
    Puppet::Pops::Time::Timestamp => 'Timestamp', Puppet::Pops::Time::Timespan => 'Timespan',
    Puppet::Pops::Types::PBinaryType::Binary => 'Binary', SemanticPuppet::Version => 'SemVer',
    SemanticPuppet::VersionRange => 'SemVerRange', URI::Generic => 'URI', Puppet::Pops::Types::PAnyType => 'Type'
  }.freeze

  module_function

  def encode(value)
    case value
    when nil, true, false, Integer then value
    when Float then value.finite? ? value : typed('Float', value.to_s)
    when String then encode_string(value)
    when Symbol then typed('Symbol', value.to_s)
    when Regexp then typed('Regexp', value.source)
    when Array then value.map { |element| encode(element) }
    when Hash then encode_hash(value)
    when Puppet::Pops::Types::PSensitiveType::Sensitive then typed('Sensitive', encode(value.unwrap))
    else
      name = NAMES.find { |type, _| value.is_a?(type) }&.last || value.class.name
      typed(name, value.to_s)
    end
  end

  def encode_string(value)
    text = value.dup.force_encoding(Encoding::UTF_8)
    text.valid_encoding? ? text : typed('BinaryString', [value].pack('m0'))
  end

  def encode_hash(value)
    return value.map { |key, element| [encode(key), encode(element)] }.to_h if value.keys.all? { |key| key.is_a?(String) && encode(key) == key }

    typed('Hash', value.flat_map { |key, element| [encode(key), encode(element)] })
  end

  def typed(type, text)
    { '__ptype' => type, '__pvalue' => text }
  end
end

# The profiles of a request, and the keys of a repository where it names none.
module Inputs
  # No data: configuration, module metadata, tests of modules.
  NOT_DATA = /\A(.*hiera|Puppetfile|metadata)\.(yaml|json)\z/

  module_function

  def profiles(path)
    if File.directory?(path)
      Dir.glob(File.join(path, '*.{yaml,yml,json}')).sort.map { |file| YAML.safe_load(File.read(file), aliases: true) }
    else
      File.readlines(path, chomp: true).reject(&:empty?).map { |line| JSON.parse(line) }
    end
  end

  def keys(folders)
    files = folders.flat_map { |folder| Dir.glob(File.join(folder, '**', '*.{yaml,yml,json,eyaml}')) }.uniq
    files.reject! { |file| File.basename(file).match?(NOT_DATA) || file.include?('/spec/') }
    keys = files.flat_map { |file| root_keys(file) }.uniq - ['lookup_options']
    # Those that are not UTF-8 cannot be written in a request.
    keys.map { |key| key.dup.force_encoding(Encoding::UTF_8) }.select(&:valid_encoding?).filter_map { |key| asked(key) }.sort
  end

  # The key that asks for a root key: Puppet takes apart what is not quoted, and nothing asks for one with both quotes.
  def asked(key)
    return key unless key.match?(/['".]/)

    quote = ["'", '"'].find { |quote| !key.include?(quote) }
    quote && "#{quote}#{key}#{quote}"
  end

  def root_keys(file)
    content = File.read(file)
    data = file.end_with?('.json') ? JSON.parse(content) : YAML.safe_load(content, permitted_classes: [Symbol, Date, Time], aliases: true)
    data.is_a?(Hash) ? data.keys.map(&:to_s) : []
  rescue StandardError # Puppet tells what is wrong with it, if a lookup reads it
    []
  end
end

# A key pair for all encrypted data, whatever options name; of a pair without a certificate the private key only.
module ChosenKeys
  class << self
    attr_accessor :pair

    # hiera-eyaml need not be there.
    def choose(pair)
      require 'hiera/backend/eyaml/options'
      Hiera::Backend::Eyaml::Options.singleton_class.prepend(self)
      self.pair = pair
    rescue LoadError
      nil
    end
  end

  def [](name)
    kind = name.to_s[/\Apkcs7_(?:private|public)_key/]
    chosen = (ChosenKeys.pair || {}).select { |key, _| kind && key.start_with?(kind) }
    chosen.empty? ? super : chosen[name.to_s]
  end
end

# Holds levels to files in given folders. Those of a global layer that reads all find all.
module Confined
  class << self
    attr_accessor :is_free

    def confine(request)
      @folders = request['within']
      @global_reads_all = request['global_reads_all']
      @found = {}
    end

    # Returns true if a level may find a file.
    def inside?(path)
      return true if @folders.nil?
      return @found[path.to_s] = true if is_free

      real = File.realpath(path)
      @folders.any? { |folder| real.start_with?("#{folder}/") }
    rescue SystemCallError
      false
    end

    # Returns true if a level of a global layer that reads all has found a file.
    def found?(path)
      @found.include?(path)
    end

    def provide(provider)
      before = is_free
      self.is_free = @global_reads_all && provider.is_a?(Puppet::Pops::Lookup::GlobalDataProvider)
      yield
    ensure
      self.is_free = before
    end
  end

  module Location
    def initialize(original, location, exist)
      super(original, location, exist && (location.is_a?(URI) || Confined.inside?(location)))
    end

    Puppet::Pops::Lookup::ResolvedLocation.prepend(self)
  end

  # The levels of a layer, whatever other layers are asked for their sake.
  module Layer
    def unchecked_key_lookup(*)
      Confined.provide(self) { super }
    end

    Puppet::Pops::Lookup::ConfiguredDataProvider.prepend(self)
  end
end

# The end of a lookup that takes what Puppet is not asked for, such as code of the repository. Nothing rescues it by
# accident.
class NotAsked < Exception # rubocop:disable Lint/InheritException
  class << self
    # True if there was one since this was set to false: it counts even if somebody rescues it.
    attr_accessor :noted
  end

  def initialize(what)
    super("takes #{what}, which Puppet is not asked for")
    NotAsked.noted = true
  end
end

# A Puppet installation's worth of settings, and the environments that come and go in it.
class Puppetry
  # Loading and parsing Puppet's own functions (yaml_data, json_data) is most of the cost of an environment. They keep
  # nothing of it, so one loader serves all; whatever lies in the environment or its modules is loaded afresh.
  module SharedSystemLoader
    def create_puppet_system_loader
      $shared_system_loader ||= super
    end
  end
  Puppet::Pops::Loaders.prepend(SharedSystemLoader)

  # The folder of its settings.
  attr_reader :folder

  def initialize(folder)
    @folder = folder
    @environments = File.join(folder, 'code', 'environments')
    modules = File.join(folder, 'code', 'modules')
    FileUtils.mkdir_p([@environments, modules])
    Puppet.initialize_settings(['--confdir', File.join(folder, 'conf'), '--vardir', File.join(folder, 'var'),
                                '--codedir', File.join(folder, 'code'), '--environmentpath', @environments,
                                '--basemodulepath', modules])
    @own_environments = @environments
    @no_global = File.join(folder, 'none', 'hiera.yaml')
    Puppet[:code] = 'undef'
    Puppet::Util::Log.level = :err
  end

  # Returns the folder of the environment as Puppet sees it.
  def path(environment)
    File.join(@environments, environment)
  end

  # Has the environment `name` lie in `folder`; in a folder of ours if there is none, or another thing of that name in
  # it.
  def place(repo, name, folder)
    there = folder && File.join(folder, name)
    taken = there && (File.exist?(there) || File.symlink?(there)) && !same?(there, repo)
    @environments = there && !taken ? folder : @own_environments
    Puppet[:environmentpath] = @environments unless Puppet[:environmentpath] == @environments
  end

  # Yields the repository as a fresh environment, with nothing that earlier ones left behind.
  def with_environment(repo, name, strict, global, basemodulepath)
    Puppet[:environment] = name
    Puppet[:hiera_config] = global || @no_global
    Puppet[:basemodulepath] = basemodulepath.join(File::PATH_SEPARATOR)
    Puppet[:strict_variables] = strict
    Puppet[:strict] = strict ? :error : :warning
    Puppet::Util::Logging.instance_method(:clear_deprecation_warnings).bind_call(Puppet)
    link = path(name) unless same?(path(name), repo)
    released { File.symlink(repo, link) } if link
    directories = Puppet::Environments::Directories.new(@environments, basemodulepath)
    # The settings of an environment are those of the environments at hand.
    Puppet.override(environments: directories) do
      environment = directories.get(name)
      context = { current_environment: environment, loaders: Puppet::Pops::Loaders.new(environment) }
      Puppet.override(context) { yield environment }
    end
  ensure
    released { FileUtils.rm_f(link) } if link
  end

  def same?(path, repo)
    File.exist?(path) && File.realpath(path) == File.realpath(repo)
  end

  def compiler(profile, environment)
    facts = profile['facts'] || {}
    name = profile['name']
    node = Puppet::Node.new(name, facts: Puppet::Node::Facts.new(name, facts), environment: environment)
    node.merge(facts.merge(profile['variables'] || {}))
    hostname, domain = name.split('.', 2)
    node.trusted_data = { 'authenticated' => 'remote', 'certname' => name, 'extensions' => {}, 'hostname' => hostname,
                          'domain' => domain, 'external' => {} }.merge(profile['trusted'] || {})
    node.add_server_facts({ 'environment' => environment.name.to_s, 'serverversion' => Puppet.version }
      .merge(profile['server_facts'] || {}))
    Puppet::Parser::Compiler.new(node)
  end
end

# Answers one request: every key on every node, in order. The order counts: Puppet caches options and parsed files, and
# a merge with a knock-out prefix can empty strings inside the cached data.
class Resolution
  NOT_FOUND = Object.new.freeze
  # Any end of a lookup is an answer, even running out of stack; only a wish to end the process is not.
  FATAL = [SignalException, SystemExit, NoMemoryError].freeze

  attr_reader :keys

  def initialize(puppetry, request)
    @puppetry = puppetry
    @repo = File.realpath(request['repo'])
    @strict = request.fetch('strict') { Puppet.version.to_i >= 8 }
    @keys_of = request['keys_of']
    @merge = request['merge']
    @manifest = request['manifest']
    @profiles = Inputs.profiles(request['profiles'])
    @profiles = @profiles.first(request['limit']) if request['limit']
    @global = request['global']
    @basemodulepath = request['basemodulepath'] || []
    @keys = (request['keys'] || Inputs.keys([@repo])) | (request['more_keys'] || [])
    @outside_keys = @keys_of ? [] : outside_keys
    @name = @profiles.first['environment'] || 'production'
    @puppetry.place(@repo, @name, request['environmentpath'])
    @own_paths = /#{Regexp.union("#{@puppetry.path(@name)}/", "#{@repo}/")}/
  end

  def nodes
    with_environment do |environment|
      Dir.chdir(folder) { @profiles.map { |profile| node(profile, environment) } }
    end
  rescue *FATAL
    raise
  rescue Exception => e # there is no environment to look anything up in
    @profiles.map { |profile| failed(profile, e) }
  end

  private

  # The keys of files beside the repository; a dotted one may be found by its parts though no hierarchy reaches the
  # file.
  def outside_keys
    keys = Inputs.keys([@global && File.dirname(@global), *@basemodulepath].compact) - @keys
    keys.reject { |key| key.include?('.') }
  end

  # The relative folders of a global version 3 are where the process is.
  def folder
    folder = @global && File.dirname(@global)
    folder && File.directory?(folder) ? folder : @repo
  end

  def with_environment(&block)
    @puppetry.with_environment(@repo, @name, @strict, @global, @basemodulepath, &block)
  end

  def node(profile, environment)
    line = { 'node' => profile['name'], 'values' => {}, 'errors' => {}, 'not_asked' => [] }
    compiler = @puppetry.compiler(profile, environment)
    compiler.compile do |catalog|
      Puppet::Pops::Parser::EvaluatingParser.new.evaluate_string(compiler.topscope, @manifest) if @manifest
      (@keys_of ? @keys_of[line['node']] : @keys).each { |key| answer(key, compiler, line) }
      @outside_keys.each { |key| answer(key, compiler, line) }
      @outside_keys.each { |key| line['errors'].delete(key) }
      catalog
    end
    line
  rescue *FATAL
    raise
  rescue Exception => e # the node cannot be compiled, so no key of it can be looked up
    failed(profile, e)
  end

  def failed(profile, error)
    keys = @keys_of ? @keys_of[profile['name']] : @keys
    not_asked = error.is_a?(NotAsked) ? keys : []
    { 'node' => profile['name'], 'values' => {}, 'errors' => keys.to_h { |key| [key, text(error)] }, 'not_asked' => not_asked }
  end

  def answer(key, compiler, line)
    NotAsked.noted = false
    invocation = Puppet::Pops::Lookup::Invocation.new(compiler.topscope, {}, {})
    value = Puppet::Pops::Lookup.lookup(key, nil, NOT_FOUND, true, @merge, invocation)
    line['values'][key] = RichData.encode(value) unless value.equal?(NOT_FOUND)
  rescue *FATAL
    raise
  rescue Exception => e
    line['errors'][key] = text(e)
    forget_global_options(compiler)
  ensure
    line['not_asked'] << key if NotAsked.noted
  end

  # If the options of the global layer fail, Puppet goes on without them for the next key. A lookup of a single key
  # fails, so each key shall.
  def forget_global_options(compiler)
    adapter = Puppet::Pops::Lookup::LookupAdapter.get(compiler)
    return unless adapter&.instance_variable_defined?(:@global_lookup_options)

    adapter.remove_instance_variable(:@global_lookup_options) if adapter.instance_variable_get(:@global_lookup_options).nil?
  end

  def text(error)
    plain(error.message)
  end

  def plain(text)
    text.dup.force_encoding(Encoding::UTF_8).scrub.gsub(@own_paths, '')
  end
end

# Explains lookups, each with a compiler of its own: what one finds and keeps is not there for the next.
class Explanation < Resolution
  def explained(lookups)
    with_environment do |environment|
      Dir.chdir(folder) { lookups.map { |lookup| explain(lookup, environment) } }
    end
  rescue *FATAL
    raise
  rescue Exception => e # there is no environment to look anything up in
    lookups.map { { 'text' => '', 'data' => {}, 'error' => text(e) } }
  end

  private

  def explain(lookup, environment)
    only_options = lookup['only_options'] || false
    explainer = Puppet::Pops::Lookup::Explainer.new(only_options, only_options)
    error = failure do
      compiler = @puppetry.compiler(@profiles.find { |profile| profile['name'] == lookup['node'] }, environment)
      compiler.compile do |catalog|
        invocation = Puppet::Pops::Lookup::Invocation.new(compiler.topscope, {}, {}, explainer)
        Puppet::Pops::Lookup.lookup(lookup['keys'], nil, nil, false, lookup['merge'], invocation)
        catalog
      end
    end
    data = plain(JSON.generate(RichData.encode(explainer.to_hash)))
    { 'text' => plain(explainer.explain), 'data' => JSON.parse(data), 'error' => error }
  end

  def failure
    yield
    nil
  rescue *FATAL
    raise
  rescue Exception => e
    text(e)
  end
end

def answer(puppetry, request)
  return { 'puppet' => Puppet.version, 'ruby' => RUBY } if request['version']

  ChosenKeys.choose(request['eyaml'])
  Confined.confine(request)
  resolution = Resolution.new(puppetry, request)
  explanation = Explanation.new(puppetry, request) if request['explain']
  held(request, [puppetry.folder]) do
    answer = { 'repo' => request['repo'], 'keys' => resolution.keys, 'nodes' => resolution.nodes }
    explanation ? answer.merge('explained' => explanation.explained(request['explain'])) : answer
  end
end

# Does what is in the block; with --data-only, within what the request and the folders allow.
def held(request, folders = [], &block)
  defined?(DataOnly) ? DataOnly.hold(request, folders, &block) : yield
end

# Does what is in the block as this program does by itself.
def released(&block)
  defined?(DataOnly) ? DataOnly::Reach.release(&block) : yield
end

# Answers each request on standard input with the block's answer, a line each.
def serve
  $stdout.sync = true
  $stdin.each_line do |line|
    request = JSON.parse(line)
    puts JSON.generate(answered(request) { yield request })
  end
end

# Returns the block's answer, or an error if the repository cannot be asked at all.
def answered(request)
  yield
rescue *Resolution::FATAL
  raise
rescue Exception => e
  { 'repo' => request['repo'], 'error' => "#{e.class}: #{e.message}".scrub }
end

require_relative 'data_only' if ARGV.include?('--data-only')

if $PROGRAM_NAME == __FILE__
  Dir.mktmpdir('hierad_puppet') do |folder|
    puppetry = Puppetry.new(File.realpath(folder))
    serve { |request| answer(puppetry, request) }
  end
end
