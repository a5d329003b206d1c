#!/usr/bin/env ruby
# frozen_string_literal: true

# Compares what hierad has of functions that Puppet runs for it (`{puppet: true}`) with what Puppet finds by itself, on
# random repositories:
#
#   ruby tests/puppet/bridge.rb --hierad target/debug/hierad [--repos N] [--seed N] [--puppet-lib DIR] [--keep DIR]
#
# The functions are written in the manner of those that sites have: one that makes a path of a key's namespace, one that
# finds nodes by regular expressions, one that asks a server of secrets, one that asks a server of JSON, a `data_dig` and a
# `data_hash`. Files stand for the servers. A value must be equal to Puppet's; an error must be one there, or say that it
# is unknown to hierad. Some functions are promised to read only what begins with their path (`reads: path`), which may
# be a lie. Each repository has a second commit, and `hierad diff` must find what differs between Puppet's
# answers. Exit status: 0 no difference, 1 differences, 2 it could not run.
require 'fileutils'
require 'json'
require 'tmpdir'
require 'yaml'
require_relative 'comparison'

HERE = File.expand_path(__dir__)

# Functions in Ruby, in the manner of those that sites have.
module Functions
  # As `wmflib::expand_path`: the namespace of a key is a path.
  EXPAND = <<~'RUBY'
    require 'yaml'
    Puppet::Functions.create_function(:'site::expand') do
      dispatch :expand do
        param 'String[1]', :key
        param 'Struct[{path=>String[1]}]', :options
        param 'Puppet::LookupContext', :context
      end

      def expand(key, options, context)
        return context.cached_value(key) if context.cache_has_key(key)

        *namespace, _name = key.gsub(/^::/, '').split('::')
        path = namespace.empty? ? "#{options['path']}.yaml" : File.join(options['path'], *namespace) + '.yaml'
        data = File.exist?(path) ? context.cached_file_data(path) { |text| YAML.safe_load(text, permitted_classes: [Symbol]) || {} } : {}
        context.not_found unless data.include?(key)
        context.cache(key, context.interpolate(data[key]))
      end
    end
  RUBY

  # As `wmflib::regex_data`: sections of a file for nodes whose name matches; what goes wrong is nothing.
  REGEX = <<~'RUBY'
    Puppet::Functions.create_function(:'site::regex') do
      dispatch :regex do
        param 'String[1]', :key
        param 'Hash', :options
        param 'Puppet::LookupContext', :context
      end

      def regex(key, options, context)
        return context.cached_value(key) if context.cache_has_key(key)

        data = context.cached_file_data(options['path']) { |text| YAML.unsafe_load(text) }
        data.each_value do |section|
          next unless section['__regex'].match(options['node'])
          next unless section.include?(key)

          return context.cache(key, context.interpolate(section[key]))
        end
        context.not_found
      rescue => e
        Puppet.debug(e)
        nil
      end
    end
  RUBY

  # As hiera_vault: it looks into what is there, for keys that it is confined to, and strips their prefix.
  VAULT = <<~'RUBY'
    require 'json'
    Puppet::Functions.create_function(:site_vault) do
      dispatch :find do
        param 'Variant[String, Numeric]', :key
        param 'Hash', :options
        param 'Puppet::LookupContext', :context
      end

      def find(key, options, context)
        confine = options['confine_to_keys']
        if confine && !confine.any? { |pattern| key.match?(Regexp.new(pattern)) }
          context.explain { 'not confined' }
          context.not_found
        end
        return context.cached_value(key) if context.cache_has_key(key)

        options['mounts'].each do |mount|
          path = context.interpolate(mount)
          raise ArgumentError, '[site_vault] invalid mount' if path.empty?

          file = File.join(File.dirname(options['path']), 'vault', path, "#{key}.json")
          next unless File.exist?(file)

          data = JSON.parse(File.read(file))
          value = options['default_field'] ? data[options['default_field']] : data
          next if value.nil?

          return context.cache(key, context.interpolate(value))
        end
        context.not_found
      end
    end
  RUBY

  # As hiera_http: one document for all keys, found by a path of options and variables; `output` says what it is.
  HTTP = <<~'RUBY'
    require 'json'
    Puppet::Functions.create_function(:'site::http') do
      dispatch :find do
        param 'Variant[String, Numeric]', :key
        param 'Hash', :options
        param 'Puppet::LookupContext', :context
      end

      def find(key, options, context)
        ignore = options['confine_to_keys']
        context.not_found if ignore && ignore.none? { |pattern| key =~ Regexp.new(pattern) }
        file = File.join(File.dirname(options['path']), options['document'])
        context.not_found unless File.file?(file)
        text = context.cached_value(file) || context.cache(file, File.read(file))
        data = options['output'] == 'json' ? JSON.parse(text) : text
        answer = data.is_a?(Hash) ? data[key] : data
        context.not_found if answer.nil? || answer == ''
        answer = context.interpolate(answer) unless options['plain']
        if options['shape'] && answer.is_a?(Hash)
          answer = answer.merge('shaped' => scope_value('role'))
        end
        case answer
        when String then options['shape'] ? answer.upcase : answer
        else answer
        end
      end

      def scope_value(name)
        closure_scope[name]
      end
    end
  RUBY

  DIG = <<~'RUBY'
    require 'yaml'
    Puppet::Functions.create_function(:'site::dig') do
      dispatch :dig do
        param 'Array[Variant[String, Integer]]', :segments
        param 'Hash', :options
        param 'Puppet::LookupContext', :context
      end

      def dig(segments, options, context)
        data = context.cached_file_data(options['path']) { |text| YAML.safe_load(text) }
        context.not_found unless data.is_a?(Hash) && data.key?(segments[0])
        value = segments.reduce(data) { |at, segment| at.respond_to?(:dig) ? at[segment] : nil }
        context.not_found if value.nil?
        context.interpolate(value)
      end
    end
  RUBY

  HASH = <<~'RUBY'
    require 'yaml'
    Puppet::Functions.create_function(:'site::all') do
      dispatch :all do
        param 'Hash', :options
        param 'Puppet::LookupContext', :context
      end

      def all(options, context)
        files = Dir.glob(File.join(options['path'], '*.yaml')).sort
        files.map { |file| context.cached_file_data(file) { |text| YAML.safe_load(text) || {} } }.reduce({}, :merge)
      end
    end
  RUBY

  # It looks other keys up, with what may go wrong.
  ASK = <<~'RUBY'
    Puppet::Functions.create_function(:'site::ask') do
      dispatch :ask do
        param 'String', :key
        param 'Hash', :options
        param 'Puppet::LookupContext', :context
      end

      def ask(key, options, context)
        other = options['asks'][key] || context.not_found
        value = case options['by']
                when 'merge' then call_function('lookup', { 'name' => other, 'merge' => options['merge'], 'default_value' => nil })
                when 'default' then call_function('lookup', [other, 'plain'], { 'default_value' => 'none' })
                when 'hiera' then call_function('hiera_array', other, [])
                when 'cached' then context.cached_value(other) || context.cache(other, call_function('lookup', other))
                else call_function('lookup', other)
                end
        options['wrap'] ? { 'of' => other, 'value' => value, 'also' => context.interpolate('%{role}') } : value
      rescue Puppet::DataBinding::LookupError => e
        raise unless options['rescue']

        e.message
      end
    end
  RUBY

  ALL = { 'site/ask' => ASK, 'site/expand' => EXPAND, 'site/regex' => REGEX, 'site_vault' => VAULT, 'site/http' => HTTP, 'site/dig' => DIG, 'site/all' => HASH }.freeze
end

# A random repository.
class Repository
  KEYS = %w[plain role::x role::y deep::er::key list hash secret user dug other].freeze
  NODES = %w[web1 web2 db1 db2].freeze

  attr_reader :folder

  def initialize(folder, random, version)
    @folder = folder
    @random = random
    @version = version
  end

  def make
    FileUtils.mkdir_p(@folder)
    # A function without a namespace may as well be the environment's.
    folder = ->(name) { !name.include?('/') && chance(0.5) ? 'lib' : 'modules/site/lib' }
    Functions::ALL.each { |name, code| write("#{folder.call(name)}/puppet/functions/#{name}.rb", code) }
    write('hiera.yaml', YAML.dump('version' => 5, 'hierarchy' => levels))
    NODES.each { |name| write("profiles/#{name}.yaml", YAML.dump(profile(name))) }
    data
    git('init', '--quiet', '--initial-branch=main')
    commit
    change
    commit
    write('.git/hierad.yaml', settings)
  end

  def write(path, content)
    path = File.join(@folder, path)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, content)
  end

  def git(*arguments)
    env = { 'GIT_AUTHOR_NAME' => 'A', 'GIT_AUTHOR_EMAIL' => 'a@b', 'GIT_COMMITTER_NAME' => 'A', 'GIT_COMMITTER_EMAIL' => 'a@b' }
    out, err, status = run(@folder, 'git', *arguments, env: env)
    raise err unless status.zero?

    out
  end

  private

  def commit
    git('add', '--all')
    git('commit', '--quiet', '--allow-empty', '-m', 'x')
  end

  def settings
    scope = chance(0.5) ? ', scope: [role, site, facts.os.family]' : ''
    names = %w[site::ask site::expand site::regex site_vault site::http site::dig site::all]
    # Of site_vault, site::http and site::ask it is not true, so that their answers are unknown.
    lines = names.map { |name| "  \"#{name}\": {puppet: true, timeout: 60#{scope}#{', reads: path' if chance(0.6)}}\n" }
    "profiles: [../profiles]\npuppet: #{@version}\nbackends:\n#{lines.join}"
  end

  def chance(share)
    @random.rand < share
  end

  def pick(array)
    array[@random.rand(array.size)]
  end

  def profile(name)
    { 'name' => name, 'facts' => { 'os' => { 'family' => pick(%w[Debian RedHat]) }, 'fqdn' => "#{name}.example.com" },
      'variables' => { 'role' => name[/\D+/], 'site' => pick(%w[eqiad codfw]) } }
  end

  def levels
    all = [
      { 'name' => 'regex', 'lookup_key' => 'site::regex', 'path' => 'regex.yaml', 'options' => { 'node' => '%{facts.fqdn}' } },
      { 'name' => 'site', 'lookup_key' => 'site::expand', 'path' => '%{site}' },
      { 'name' => 'roles', 'paths' => ['role/%{site}/%{role}.yaml', 'role/%{role}.yaml'] },
      { 'name' => 'vault', 'lookup_key' => 'site_vault', 'path' => 'plain.yaml', 'options' => vault },
      { 'name' => 'http', 'lookup_key' => 'site::http', 'path' => 'plain.yaml', 'options' => http },
      { 'name' => 'dig', 'data_dig' => 'site::dig', 'paths' => ['dig/%{role}.yaml', 'plain.yaml'] },
      { 'name' => 'all', 'data_hash' => 'site::all', 'path' => 'all' },
      { 'name' => 'common', 'lookup_key' => 'site::expand', 'path' => 'common' },
      { 'name' => 'plain', 'path' => 'plain.yaml' },
      { 'name' => 'ask', 'lookup_key' => 'site::ask', 'path' => 'plain.yaml', 'options' => asking }
    ]
    all.shuffle(random: @random).first(3 + @random.rand(5))
  end

  def vault
    options = { 'mounts' => ['kv/%{role}', 'kv/%{facts.os.family}', 'kv/common'].first(1 + @random.rand(3)) }
    options['default_field'] = 'value' if chance(0.6)
    options['confine_to_keys'] = ['^secret', '^role::'] if chance(0.4)
    options
  end

  def asking
    options = { 'asks' => KEYS.select { chance(0.4) }.map { |key| [key, pick(KEYS + %w[hash.a none])] }.to_h }
    options['by'] = pick(%w[merge default hiera cached lookup])
    options['merge'] = pick(%w[first unique hash deep])
    %w[wrap rescue].each { |name| options[name] = true if chance(0.3) }
    options
  end

  def http
    options = { 'document' => pick(['http/%{site}.json', 'http/common.json', 'http/none.json']) }
    options['output'] = 'json' if chance(0.9)
    %w[plain shape].each { |name| options[name] = true if chance(0.2) }
    options
  end

  def text
    pick(['x', 'a text', '%{role}', 'is %{facts.os.family} at %{site}', "%{lookup('plain')}", "%{alias('list')}", "%{alias('none')}", '%{none}',
          "%{literal('%')}{role}", "50%", "%{lookup('hash.a')} and %{role}", '', "%{hiera('other')}", "%{alias('other')}"])
  end

  def value(depth = 0)
    case @random.rand(depth > 2 ? 6 : 10)
    when 0, 1, 2 then text
    when 3 then @random.rand(100)
    when 4 then pick([true, false, nil])
    when 5 then pick([1.5, 'yes', '%{role}%{site}'])
    when 6, 7 then Array.new(@random.rand(3)) { value(depth + 1) }
    else %w[a b %{role} c].sample(@random.rand(3) + 1, random: @random).map { |key| [key, value(depth + 1)] }.to_h
    end
  end

  def hash(keys)
    keys.select { chance(0.5) }.map { |key| [key, value] }.to_h
  end

  def data
    FileUtils.mkdir_p(%w[common eqiad codfw all].map { |name| File.join(@folder, 'data', name) })
    %w[common eqiad codfw].each do |place|
      tree(place)
      write("data/#{place}/.keep", '')
    end
    write('data/all/.keep', '')
    write('data/plain.yaml', YAML.dump(hash(KEYS).merge(options)))
    %w[web db].each do |role|
      write("data/role/#{role}.yaml", YAML.dump(hash(KEYS)))
      write("data/role/eqiad/#{role}.yaml", YAML.dump(hash(KEYS))) if chance(0.5)
      write("data/dig/#{role}.yaml", YAML.dump(hash(KEYS))) if chance(0.7)
      write("data/all/#{role}.yaml", YAML.dump(hash(KEYS))) if chance(0.5)
      KEYS.each { |key| vault_file("kv/#{role}", key) }
    end
    %w[kv/Debian kv/common].each { |mount| KEYS.each { |key| vault_file(mount, key) } }
    %w[eqiad common].each { |name| write("data/http/#{name}.json", JSON.generate(hash(KEYS))) }
    write('data/regex.yaml', regex)
  end

  def vault_file(mount, key)
    write("data/vault/#{mount}/#{key}.json", JSON.generate('value' => value, 'other' => value)) if chance(0.3)
  end

  def tree(place)
    write("data/#{place}.yaml", YAML.dump(hash(KEYS.reject { |key| key.include?('::') })))
    write("data/#{place}/role.yaml", YAML.dump(hash(%w[role::x role::y])))
    write("data/#{place}/deep/er.yaml", YAML.dump(hash(%w[deep::er::key])))
  end

  def regex
    sections = %w[web db1 .*].select { chance(0.7) }.map { |pattern| [pattern, { '__regex' => Regexp.new(pattern) }.merge(hash(KEYS))] }
    YAML.dump(sections.to_h)
  end

  def options
    return {} if chance(0.4)

    { 'lookup_options' => KEYS.select { chance(0.3) }.map { |key| [key, { 'merge' => pick(%w[first unique hash deep]) }] }.to_h }
  end

  def change
    case @random.rand(9)
    when 0 then tree(pick(%w[common eqiad codfw]))
    when 1 then KEYS.each { |key| vault_file('kv/common', key) }
    when 2 then write('data/regex.yaml', regex)
    when 3 then write("data/dig/web.yaml", YAML.dump(hash(KEYS)))
    when 4 then write('README', 'x')
    when 5 then write('data/plain.yaml', YAML.dump(hash(KEYS).merge(options)))
    when 6 then write('data/role/web.yaml', YAML.dump(hash(KEYS)))
    when 7 then write("data/#{pick(%w[common eqiad])}.yaml", YAML.dump(hash(KEYS.reject { |key| key.include?('::') })))
    else write('data/http/common.json', JSON.generate(hash(KEYS)))
    end
  end
end

# Compares the answers on one repository.
class Comparison < Tally
  def initialize(hierad, puppet, random)
    super()
    @random = random
    @hierad = hierad
    @puppet = puppet
  end

  def compare(repository)
    before = "#{repository.folder}-before"
    repository.git('worktree', 'add', '--quiet', '--detach', before, 'main~')
    sides = [['main~', before], ['main', repository.folder]].map { |revision, folder| [rendered(repository, revision), asked(folder)] }
    sides.zip([before, repository.folder]) { |(ours, theirs), folder| compare_side(repository, folder, ours, theirs) }
    compare_diff(repository, sides.map(&:first))
  end

  # Ends hierad while functions run: no file of theirs may be left, and nothing of Ruby's be told.
  def end_early(repository)
    [%w[INT group], %w[TERM one], %w[KILL one]].each do |signal, whom|
      Dir.mktmpdir do |folder|
        told = File.join(repository.folder, '.git', "told.#{signal}")
        pid = spawn({ 'TMPDIR' => folder, 'HOME' => '/nonexistent' }, @hierad, '--no-cache', 'render', 'main', '--allow-blind', '--format', 'ndjson',
                    chdir: repository.folder, out: File::NULL, err: told, pgroup: true)
        wait_for { running(folder).any? }
        # Ruby may be about to start, or at work.
        sleep @random.rand(1.5)
        # Files for which Ruby was not started yet have nobody who could remove them.
        running = running(folder)
        Process.kill(signal, whom == 'group' ? -pid : pid)
        Process.wait(pid)
        is_tidy = wait_for { running.none? { |stage| File.exist?(stage) } } && !File.read(told).include?('bridge.rb')
        is_tidy ? count(:tidy) : differ(repository, signal, running, File.read(told))
      end
    end
  end

  private

  # The folders of the processes that run functions.
  def running(folder)
    programs = Dir.glob('/proc/[0-9]*/cmdline').flat_map do |file|
      File.read(file).split("\0")
    rescue SystemCallError
      []
    end
    programs.select { |word| word.start_with?("#{folder}/") && word.end_with?('/bridge.rb') }.map { |program| File.dirname(program) }
  end

  def wait_for
    3000.times { yield ? (return true) : sleep(0.02) }
    false
  end

  def rendered(repository, revision)
    out, err, status = run(repository.folder, @hierad, 'render', revision, '--allow-blind', '--format', 'ndjson', env: { 'HOME' => '/nonexistent' })
    raise "render: #{err}" unless [0, 1, 3].include?(status) && !out.empty?

    out.lines.map { |line| JSON.parse(line) }.map { |node| [node['node'], node] }.to_h
  end

  def asked(folder, keys = Repository::KEYS)
    request = { 'repo' => folder, 'profiles' => File.join(folder, 'profiles'), 'keys' => keys }
    @puppet.puts(JSON.generate(request))
    answer = JSON.parse(@puppet.gets)
    raise answer['error'] if answer['error']

    answer['nodes'].map { |node| [node['node'], node] }.to_h
  end

  # What a function keeps in its context while Puppet looks for one key may change what it finds for the next: it counts
  # what Puppet finds for a key alone.
  def compare_side(repository, folder, ours, theirs)
    theirs.each do |name, node|
      Repository::KEYS.each do |key|
        verdict, = judge(repository, name, key, ours[name], node)
        next count(verdict) unless verdict == :different

        verdict, *found = judge(repository, name, key, ours[name], asked(folder, [key])[name])
        verdict == :different ? differ(repository, [name, key], *found) : count(:by_order)
      end
    end
  end

  # Returns a verdict, and what both found if it is `:different`.
  def judge(repository, node, key, ours, theirs)
    error = (ours['errors'] || {})[key]
    error = error['message'] || error.to_s if error.is_a?(Hash)
    if error
      return [:unknown] if error.include?('unknown to hierad')

      return theirs['errors'].key?(key) ? [:failed] : [:different, "hierad fails: #{error}", theirs['values'][key]]
    end
    return [:different, ours['values'][key], theirs['errors'][key]] if theirs['errors'].key?(key)
    return [:different, true, false] if ours['values'].key?(key) && !theirs['values'].key?(key)
    return unlisted(repository, node, key, theirs['values'][key]) if theirs['values'].key?(key) && !ours['values'].key?(key)

    equal(ours['values'][key], theirs['values'][key], :equal)
  end

  def equal(ours, theirs, verdict)
    JSON.generate(ours) == JSON.generate(theirs) ? [verdict] : [:different, ours, theirs]
  end

  # A render lists the keys of data files. One that only a function finds has to be asked for.
  def unlisted(repository, node, key, theirs)
    arguments = ['lookup', key, '--node', node, '--render-as', 'json']
    out, err, status = run(repository.folder, @hierad, *arguments, env: { 'HOME' => '/nonexistent' })
    status.zero? ? equal(JSON.parse(out), theirs, :unlisted) : [:different, err, theirs]
  end

  # The changes of a diff are those between two renders.
  def compare_diff(repository, (before, after))
    out, err, status = run(repository.folder, @hierad, 'diff', 'main~', 'main', '--format', 'json', env: { 'HOME' => '/nonexistent' })
    return differ(repository, 'diff', status, err) unless [0, 1].include?(status) && !out.empty?

    answer = ->(node, key) { [node['errors'][key], node['values'].key?(key), node['values'][key]] }
    keys = [before, after].map { |nodes| nodes.values.flat_map { |node| node['values'].keys + node['errors'].keys }.uniq }
    changed = keys.reduce(:|).select { |key| before.any? { |name, node| answer[node, key] != answer[after[name], key] } }
    # A key that only one side knows may have the same value on the other, where a render does not show it.
    sure = changed & keys.reduce(:&)
    told = JSON.parse(out)['keys']['changed']
    told.between?(sure.size, changed.size) ? count(:diffs) : differ(repository, 'diff', told, changed.sort)
  end
end

options = options_of(repos: 50)
ENV['RUBYLIB'] = options[:lib] if options[:lib]
abort unless system('ruby', '-W0', File.join(HERE, 'access.rb'))
Dir.mktmpdir('hierad_bridge_test') do |base|
  base = options[:keep] || base
  puppet = IO.popen(['ruby', '-W0', File.join(HERE, '../../src/verify/resolve.rb')], 'r+')
  puppet.puts('{"version": true}')
  version = JSON.parse(puppet.gets)['puppet'].to_i
  comparison = Comparison.new(options[:hierad], puppet, Random.new(options[:seed]))
  options[:repos].times do |number|
    repository = Repository.new(File.join(base, "r#{number}"), Random.new(options[:seed] + number), version)
    repository.make
    comparison.compare(repository)
    comparison.end_early(repository) if number.zero?
    FileUtils.rm_rf([repository.folder, "#{repository.folder}-before"]) unless options[:keep]
  end
  comparison.tell(options)
end
