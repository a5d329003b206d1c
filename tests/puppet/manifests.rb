#!/usr/bin/env ruby
# frozen_string_literal: true

# Compares what hierad shows of keys that manifests look up with what the real Puppet answers to those very calls, on
# random repositories:
#
#   ruby tests/puppet/manifests.rb --hierad target/debug/hierad [--repos N] [--seed N] [--commits N] [--puppet-lib DIR]
#                                  [--keep DIR]
#
# Manifests look keys up in all forms of `lookup` and the functions of Hiera 3, with strategies and names in literals,
# variables and strings with variables; classes have parameters that Puppet looks up by itself. Where all calls of a key
# name one strategy, its value must be Puppet's answer to each. Each repository has some more commits: a comparison that
# ends with 0 must not have changed any answer to a call, or to a parameter. Exit status: 0 no difference, 1 differences,
# 2 it could not run.
require_relative 'comparison'
require_relative '../../src/verify/resolve'

# A lookup in a manifest.
Call = Struct.new(:key, :text, :variables, :whole, keyword_init: true)

# The calls of a repository, and the parameters of its classes.
class Calls
  STRATEGIES = %w[unique hash deep first].freeze
  PLAIN = %w[arr users limits inc s x.y m::p m::q m::r absent::z list_web list_db site_a].freeze

  attr_reader :files, :all, :agreed, :parameters

  def initialize(random)
    @random = random
    @bodies = Hash.new { |bodies, place| bodies[place] = [] }
    @all = []
    @agreed = []
    # The keys that calls with a part of a name may be about.
    @parts = []
    @variables = {}
    @parameters = ['m::p']
    PLAIN.reject { |key| key == 'x.y' }.each { |key| plan(key) }
    @agreed.reject! { |key| @parts.any? { |part| part.match?(key) } }
    @files = files_of
  end

  private

  def pick(*choices)
    choices.sample(random: @random)
  end

  # Chooses how manifests ask for a key.
  def plan(key)
    case @random.rand(10)
    when 0, 1 then nil
    when 2..5
      strategy = pick(*STRATEGIES)
      (1 + @random.rand(3)).times { add(key, surely(key, strategy)) }
      # A parameter, or a class that may have one, is one more way.
      @agreed << key unless %w[m::p absent::z].include?(key)
    when 6, 7 then (1 + @random.rand(3)).times { add(key, surely(key, pick(*STRATEGIES))) }
    when 8 then (1 + @random.rand(2)).times { add(key, perhaps(key)) }
    else
      add(key, plain(key))
      add(key, pick(surely(key, pick(*STRATEGIES)), perhaps(key)))
    end
  end

  def add(key, (text, whole))
    text = "#{text}.then |$t| { $t }" if @random.rand(12).zero?
    @all << Call.new(key: key, text: text, variables: @variables, whole: whole)
    @bodies[pick('manifests/site.pp', 'modules/m/manifests/init.pp', 'modules/n/manifests/sub/some.pp')] << text
  end

  # Forms that name the key and the strategy, and whether they ask for the whole key.
  def surely(key, strategy)
    hash = { 'strategy' => strategy }
    forms = [
      ["lookup('#{key}', Data, '#{strategy}')", true],
      ["lookup('#{key}', Data, #{strategy}, undef)", true],
      ["lookup('#{key}', { merge => #{strategy} })", true],
      ["call('lookup', '#{key}', { merge => #{strategy} })", true],
      ["lookup(*['#{key}', Data, '#{strategy}'])", true],
      ["lookup('#{key}', *[Data, '#{strategy}'])", true],
      ["Deferred('lookup', ['#{key}', Data, '#{strategy}']).call", true],
      ["lookup('#{key}', merge => '#{strategy}', default_value => undef)", true],
      ["lookup({ 'name' => '#{key}', 'merge' => { 'strategy' => '#{strategy}' } })", true],
      ["lookup(\"#{key}\", { 'merge' => #{hash.map { |name, value| "{'#{name}' => '#{value}'}" }.first} })", true],
      ["lookup(['#{key}'], Data, \"#{strategy}\")", true],
      ["'#{key}'.lookup(Data, '#{strategy}')", true],
      ["::lookup('#{key}', Data, '#{strategy}')", true],
      ["lookup('#{key}.0', Data, '#{strategy}', 'none')", false],
      ["lookup('#{key}.a', { merge => #{strategy}, default_value => 'none' })", false],
      ["lookup(\"#{key}.${zero}\", Data, '#{strategy}', 'none')", false]
    ]
    forms.concat({ 'unique' => %w[hiera_array], 'hash' => %w[hiera_hash], 'first' => %w[hiera] }.fetch(strategy, [])
      .flat_map { |name| [["#{name}('#{key}')", true], ["'#{key}'.#{name}()", true], ["#{name}(\"#{key}\", undef)", true]] })
    pick(*forms)
  end

  # Forms whose key or strategy is known only when they are evaluated.
  def perhaps(key)
    strategy = pick(*STRATEGIES)
    variable = "v#{@variables.size}"
    begins, ends = key[0...1], key[1..]
    form = @random.rand(8)
    @parts << (form == 3 ? /\A#{begins}/ : /#{Regexp.escape(ends)}\z/) if [3, 4].include?(form)
    case form
    when 0 then with(variable, strategy, ["lookup('#{key}', Data, $#{variable})", true])
    when 1 then with(variable, strategy, ["lookup('#{key}', { merge => $#{variable} })", true])
    when 2 then with(variable, key, ["lookup($#{variable}, Data, '#{strategy}')", true])
    when 3 then with(variable, ends, ["lookup(\"#{begins}${#{variable}}\", Data, '#{strategy}')", true])
    when 4 then with(variable, begins, ["lookup(\"${#{variable}}#{ends}\", { merge => #{strategy} })", true])
    when 5 then with(variable, { 'merge' => strategy }, ["lookup('#{key}', $#{variable})", true])
    when 6 then with(variable, [key], ["$#{variable}.map |$k| { lookup($k, Data, '#{strategy}') }", true])
    else with(variable, true, ["lookup('#{key}', Data, $#{variable} ? { true => '#{strategy}', default => 'first' })", true])
    end
  end

  def with(variable, value, form)
    @variables[variable] = value
    form
  end

  def plain(key)
    pick(["lookup('#{key}')", true], ["lookup('#{key}', Data)", true], ["lookup({ name => '#{key}' })", true])
  end

  # The variables are parameters with defaults, come from elsewhere, or are set where they are used.
  def files_of
    values = @variables.map { |name, value| [name, value.is_a?(Hash) ? "{ 'merge' => '#{value['merge']}' }" : literal(value)] }
    set, given = values.partition { @random.rand(2).zero? }
    defaults = given.map { |name, value| @random.rand(2).zero? ? "  $#{name} = #{value}," : "  $#{name}," }
    {
      'manifests/site.pp' => "#{set.map { |name, value| "$#{name} = #{value}\n" }.join}#{body('manifests/site.pp')}",
      'modules/m/manifests/init.pp' => "class m (\n  $p,\n#{defaults.join("\n")}\n) {\n#{body('modules/m/manifests/init.pp')}}\n",
      'modules/n/manifests/sub/some.pp' => "class n::sub::some {\n#{body('modules/n/manifests/sub/some.pp')}}\n"
    }
  end

  def literal(value)
    value.is_a?(Array) ? "['#{value.first}']" : value == true ? 'true' : "'#{value}'"
  end

  def body(place)
    @bodies[place].each_with_index.map { |text, at| text.start_with?('$') ? "#{text}\n" : "$r#{at} = #{text}\n" }.join
  end
end

# A random repository and its commits.
class Repository
  FILES = %w[nodes/n1.example.com nodes/n2.example.com roles/web roles/db os/Debian common].freeze
  NODES = { 'n1.example.com' => %w[web Debian], 'n2.example.com' => %w[db RedHat], 'n3.example.com' => %w[web RedHat] }.freeze

  attr_reader :folder, :calls

  def initialize(folder, random)
    @folder = folder
    @random = random
    @calls = Calls.new(random)
    @data = FILES.to_h { |name| [name, Calls::PLAIN.to_h { |key| [key, value(key)] }.compact] }
    @data['common']['lookup_options'] = options
  end

  def make
    git('init', '--quiet', '--initial-branch', 'main')
    write('hiera.yaml', "version: 5\ndefaults: {datadir: data, data_hash: yaml_data}\nhierarchy:\n" \
                        "- {name: all, paths: ['nodes/%{trusted.certname}.yaml', 'roles/%{role}.yaml', 'os/%{os.family}.yaml', 'common.yaml']}\n")
    write('hierad.yaml', "profiles: [profiles]\npuppet: #{Puppet.version.to_i}\n")
    NODES.each do |name, (role, os)|
      write("profiles/#{name}.yaml", YAML.dump('name' => name, 'facts' => { 'os' => { 'family' => os } }, 'variables' => { 'role' => role }))
    end
    @calls.files.each { |path, text| write(path, text) }
    commit
  end

  # Changes a value or two, and at times the options.
  def change
    (1 + @random.rand(2)).times do
      file = FILES.sample(random: @random)
      key = Calls::PLAIN.sample(random: @random)
      changed = value(key)
      changed.nil? ? @data[file].delete(key) : @data[file][key] = changed
    end
    @data['common']['lookup_options'] = options if @random.rand(6).zero?
    commit
  end

  private

  def commit
    @data.each { |name, data| write("data/#{name}.yaml", data.empty? ? "--- {}\n" : YAML.dump(data)) }
    git('add', '--all')
    git('-c', 'user.name=T', '-c', 'user.email=t@example.com', 'commit', '--quiet', '--allow-empty', '--message', 'a change')
  end

  def value(key)
    return nil if @random.rand(3).zero?

    case key
    when 'arr', 'inc', 'm::q', 'list_web', 'list_db' then Array.new(1 + @random.rand(2)) { item }
    when 's', 'm::r', 'x.y' then item
    else { 'a' => item, %w[b c].sample(random: @random) => [{ 'd' => item }, [item], item].sample(random: @random) }
    end
  end

  def item
    %w[u v w x].sample(random: @random)
  end

  def options
    keys = Calls::PLAIN.reject { |key| key == 'x.y' }.select { @random.rand(4).zero? }
    keys.to_h { |key| [key, { 'merge' => Calls::STRATEGIES.sample(random: @random) }] }
  end

  def write(path, text)
    file = File.join(@folder, path)
    FileUtils.mkdir_p(File.dirname(file))
    File.write(file, text)
  end

  def git(*arguments)
    out, status = Open3.capture2e('git', *arguments, chdir: @folder)
    abort(out) unless status.success?
  end
end

# Asks the real Puppet for the calls.
class CallResolution < Resolution
  def initialize(puppetry, repository)
    @calls = repository.calls
    super(puppetry, 'repo' => repository.folder, 'profiles' => File.join(repository.folder, 'profiles'), 'keys' => [])
  end

  private

  def node(profile, environment)
    answers = {}
    compiler = @puppetry.compiler(profile, environment)
    compiler.compile do |catalog|
      scope = compiler.topscope
      { 'zero' => '0' }.merge(@calls.all.first&.variables || {}).each { |name, value| scope[name] = value }
      @calls.all.each_with_index { |call, at| answers[at] = evaluated(scope, call.text) }
      @calls.parameters.each { |key| answers[key] = evaluated(scope, "lookup('#{key}')") }
      catalog
    end
    [profile['name'], answers]
  end

  def evaluated(scope, text)
    { 'value' => RichData.encode(Puppet::Pops::Parser::EvaluatingParser.new.evaluate_string(scope, text)) }
  rescue *FATAL
    raise
  rescue Exception => e
    { 'error' => text(e)[/did not find a value|Lookup|merge|[A-Za-z ]+/] }
  end
end

# Compares hierad with Puppet.
class Comparison < Tally
  def initialize(hierad, puppetry)
    super()
    @hierad = hierad
    @puppetry = puppetry
  end

  def compare(repository, commits)
    before = sides(repository)
    commits.times do
      repository.change
      after = sides(repository)
      judge(repository, before, after)
      before = after
    end
  end

  private

  # Puppet's answers at the last commit, compared with hierad's.
  def sides(repository)
    answers = CallResolution.new(@puppetry, repository).nodes.to_h
    out, err, = hierad(repository, 'render', 'HEAD', '--allow-blind', '--format', 'ndjson')
    return differ(repository, 'render', err, '') && answers if out.empty?

    out.lines.map { |line| JSON.parse(line) }.each do |node|
      repository.calls.all.each_with_index do |call, at|
        next unless call.whole && repository.calls.agreed.include?(call.key)

        equal(repository, [node['node'], call.text], node, call.key, answers[node['node']][at])
      end
    end
    answers
  end

  def equal(repository, place, ours, key, theirs)
    value = ours['values'][key]
    return count(:failed) if theirs.key?('error') && !ours['values'].key?(key)
    # A default is not the data's.
    return count(:absent) if !theirs.key?('error') && theirs['value'].nil? && !ours['values'].key?(key)
    return count(:equal) if !theirs.key?('error') && JSON.generate(value) == JSON.generate(theirs['value'])

    differ(repository, place, value, theirs)
  end

  def judge(repository, before, after)
    out, err, status = hierad(repository, 'diff', '--exit-code', '--format', 'text')
    changed = before.flat_map { |name, answers| answers.keys.reject { |at| answers[at] == after[name][at] }.map { |at| [name, at] } }
    return count(:told) if [2, 3].include?(status)
    return differ(repository, 'diff', err, status) unless status.zero?
    return count(:calm) if changed.empty?

    name, at = changed.first
    call = at.is_a?(Integer) ? repository.calls.all[at].text : at
    differ(repository, [name, call], "calm: #{out.lines.first}", [before[name][at], after[name][at]])
  end

  def hierad(repository, *arguments)
    run(repository.folder, @hierad, *arguments, env: { 'HOME' => '/nonexistent' })
  end
end

options = options_of(repos: 20, commits: 5)
Dir.mktmpdir('hierad_manifests_test') do |base|
  base = File.realpath(options[:keep] || base)
  FileUtils.mkdir_p(File.join(base, 'puppet'))
  comparison = Comparison.new(options[:hierad], Puppetry.new(File.join(base, 'puppet')))
  options[:repos].times do |number|
    repository = Repository.new(File.join(base, "r#{options[:seed] + number}").tap { |folder| FileUtils.mkdir_p(folder) },
                                Random.new(options[:seed] + number))
    repository.make
    comparison.compare(repository, options[:commits])
    FileUtils.rm_rf(repository.folder) unless options[:keep]
  end
  comparison.tell(options)
end
