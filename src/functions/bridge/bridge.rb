# frozen_string_literal: true

# Runs functions of Hiera in the machine's Puppet, for hierad, whose process id is the argument. Standard input has
# requests, a JSON object on a line, and what was standard output gets an answer on a line for each:
#
#   {"id":1,"key":"ntp::servers","of":{"function": "site::data", "kind": "lookup_key", "options": {}, "level": "Common",
#    "location": "data/common", "path": "/tmp/x/data/common", "scope": {"role": "web"}, "module_name": null,
#    "modulepath": ["/tmp/x/code"], "stage": "/tmp/x", "root": "/tmp/x/data"}}
#
# - reads: (optional) "path" if the function promises to read only what begins with `path`; `access.rb` holds it to that.
# - of: all but the key, as the last field. What is made of an equal text before is used again.
# - lookups: (optional) what the function looked up when it was called before, and what hierad found,
#   [{"of": {"key": "x", "merge": null, "is_hiera": false}, "found": [V]}], with "found": [] for nothing, or "failed": TEXT
#   for an error about a lookup, with "by": "global" if it is none, since the global layer passed it on.
# - interpolated: (optional) what became of a value that the function handed on uninterpolated when it was called before,
#   {"raw": V, "value": W} or {"raw": V, "failed": TEXT} as above: this time the function gets that.
# - path: the location of a path, or null; location is then a URI or null.
# - scope: the variables that the function may read. All others are unknown.
# - modulepath: folders of modules, before those of the machine.
# - stage: a folder whose name no answer may tell. Beneath it is `root`, which stands for the repository.
#
# Answers are {"value": V}, {"value": V, "interpolate": true} for a value that the function had interpolated and did not
# look at, {"not_found": true}, {"failed": TEXT} for what Puppet fails with, {"error": TEXT} for what cannot be known, and
# {"lookup": {"key": "x", "merge": null, "is_hiera": false}} if the function looks up what `lookups` does not have.
# With `failed`, "file" and "line" are where the function's code raises it: below the folder of modules, or on the machine.
# With "rich": true, a hash {"__hierad": "Hash", "pairs": [K, V, ...]} in V is one of other keys than texts, and
# {"__hierad": "Symbol", "text": T} a symbol.
HIERAD = ARGV.first.to_i
ANSWERS = $stdout.dup
REQUESTS = $stdin.dup
$stdout.reopen($stderr)
$stdin.reopen(File::NULL)
ENV['LC_ALL'] = 'C.UTF-8'
Encoding.default_external = Encoding::UTF_8
require 'json'
require 'puppet'
require 'puppet/pops'
require 'puppet/parser/compiler'

require_relative 'access'

# What cannot be known. No function rescues it by accident.
class Unknown < Exception # rubocop:disable Lint/InheritException
  class << self
    # The first one while the function runs: it counts even if the function rescues it.
    attr_accessor :first
  end

  def initialize(text)
    super
    Unknown.first ||= self
  end
end

# A value with interpolations in it. As long as the function only hands it on, hierad interpolates it; if the function
# looks at it, it is interpolated here.
class Uninterpolated < BasicObject
  %i[== != ! equal? instance_eval instance_exec].each { |name| undef_method(name) }

  def initialize(raw, make)
    @raw = raw
    @make = make
  end

  def __raw
    @raw
  end

  def __made
    @made ||= [@make.call]
    @made[0]
  end

  def respond_to_missing?(name, all = false)
    __made.respond_to?(name, all)
  end

  def method_missing(name, *arguments, &block)
    __made.__send__(name, *arguments, &block)
  end

  # `case` and the type system ask a class, not the value.
  module Recognized
    IS_UNINTERPOLATED = ::Module.instance_method(:===).bind(::Uninterpolated)

    def ===(object)
      super || (IS_UNINTERPOLATED.call(object) && super(object.__made))
    end
  end

  def self.is?(object)
    Recognized::IS_UNINTERPOLATED.call(object)
  end
end

# The methods of a function's context that hierad has a part in.
module BridgedContext
  INTERPOLATE = Puppet::Pops::Lookup::Context.instance_method(:interpolate)
  METHODS = /%\{\s*(?:lookup|hiera|alias)\s*\(/.freeze

  attr_accessor :bridge_told, :bridge_interpolated

  def interpolate(value)
    return super unless BridgedContext.text?(value, /%\{/)

    known = bridge_interpolated
    if known && Encoder.new(false).raw(value) == known['raw']
      BridgedLookup.fail(known)
      return known['value']
    end
    make = lambda do
      raise Unknown, 'looks into a value with a lookup in it, which hierad has not done by then' if BridgedContext.text?(value, METHODS)

      INTERPOLATE.bind(self).call(value)
    end
    Uninterpolated.new(value, make)
  end

  def environment_name
    bridge_told.value('environment')
  end

  def self.text?(value, pattern)
    case value
    when String then value.match?(pattern)
    when Array then value.any? { |item| text?(item, pattern) }
    when Hash then value.any? { |key, item| text?(key, pattern) || text?(item, pattern) }
    else false
    end
  end
end

# A fact of which only some entries are told.
class PartlyTold < Hash
  def self.told(name)
    new.tap { |hash| hash.instance_variable_set(:@name, name) }
  end

  def [](key)
    fetch(key)
  end

  def fetch(key, *)
    raise Unknown, Told.untold("#{@name}.#{key}") unless Hash.instance_method(:key?).bind(self).call(key)

    super(key)
  end

  def dig(key, *rest)
    value = fetch(key)
    rest.empty? || value.nil? ? value : value.dig(*rest)
  end

  %i[key? has_key? include? member?].each do |name|
    define_method(name) do |key|
      fetch(key)
      true
    end
  end

  %i[each each_pair each_key each_value keys values to_a to_h map select reject any? all? find size length empty? count == merge dup to_s
     inspect hash].each do |name|
    define_method(name) { |*, &_| raise(Unknown, Told.untold(@name)) }
  end
end

# The variables that a function may read.
class Told
  def self.untold(name)
    "reads the variable '#{name}', which it is not told: name it under 'scope'"
  end

  def initialize(scope)
    @values = {}
    scope.sort_by { |name, _| name.count('.') }.each { |name, value| add(name.sub(/\A::/, '').split('.'), value) }
  end

  # The value of a variable of the top scope.
  def value(name)
    name = name.to_s.sub(/\A::/, '')
    raise Unknown, Told.untold(name) unless @values.key?(name)

    @values[name]
  end

  private

  def add(path, value)
    *above, last = path
    at = @values
    above.each_with_index do |name, index|
      at.store(name, PartlyTold.told(path[0..index].join('.'))) unless Hash.instance_method(:key?).bind(at).call(name)
      at = Hash.instance_method(:[]).bind(at).call(name)
      return unless at.is_a?(PartlyTold) # all of it is told
    end
    at.store(last, value)
  end
end

# The top scope of a call.
module BridgedScope
  attr_accessor :bridge_told

  def lookupvar(name, _options = {})
    bridge_told.value(name)
  end

  def [](name, _options = {})
    bridge_told.value(name)
  end

  def lookup_qualified_variable(name, _options = {})
    bridge_told.value(name)
  end

  %i[include? exist? bound?].each do |method|
    define_method(method) { |name| !bridge_told.value(name).nil? }
  end

  %i[to_hash each].each do |method|
    define_method(method) { |*| raise Unknown, "reads all variables: name under 'scope' those that it needs, and have it read these" }
  end
end

# A function looks up another key: hierad does, and calls it again. It is no answer that a function could keep for other
# nodes.
class Wanted < Unknown
  attr_reader :lookup

  def initialize(lookup)
    super("looks up another key, '#{lookup['key']}'")
    @lookup = lookup
  end
end

# The lookups of the call that is made. All ways to look a key up end here, with overrides, defaults and types done by
# Puppet.
module BridgedLookup
  class << self
    # Does what is in the block, with the answers that the call has.
    def within(request)
      @answers = request['lookups'] || []
      @path = request['reads'] && request['path']
      yield
    ensure
      @answers = nil
      @is_kept = false
    end

    # What other nodes get as it is must not be made of what this one has.
    def kept
      outer = @is_kept
      @is_kept = true
      yield
    ensure
      @is_kept = outer
    end

    def find(name, invocation, merge)
      wanted = { 'key' => name.to_s, 'merge' => merge(merge), 'is_hiera' => invocation.hiera_xxx_call? }
      refuse(wanted, invocation)
      known = @answers.find { |answer| answer['of'] == wanted } || raise(Wanted, wanted)
      fail(known)
      throw :no_such_key if known['found'].empty?
      # A copy, since the function may change it.
      JSON.parse(JSON.generate(known['found'])).first
    end

    # Raises what Puppet does where hierad failed.
    def fail(known)
      raise known['by'] ? Puppet::Error : Puppet::DataBinding::LookupError, known['failed'] if known['failed']
    end

    private

    def merge(merge)
      return merge.to_s if merge.is_a?(Symbol)

      encoder = Encoder.new(false)
      encoded = encoder.raw(merge)
      raise Unknown, 'looks up another key with a merge that cannot be handed on' if encoder.rich

      encoded
    end

    def refuse(wanted, invocation)
      of = "another key, '#{wanted['key']}'"
      raise Unknown, "looks up #{of}, in data that 'reads: path' does not promise: remove 'reads'" if @path
      raise Unknown, "looks up #{of}, for data that it keeps for all nodes" if @is_kept || @answers.nil?
      raise Unknown, "looks up #{of}, in levels of its own" unless invocation.hiera_v3_location_overrides.empty?
    end
  end

  def search_and_merge(name, invocation, merge, *)
    BridgedLookup.find(name, invocation, merge)
  end

  # Functions of Hiera 3 search all layers where the environment has a hierarchy, which hierad checks.
  module Adapter
    def has_environment_data_provider?(*)
      true
    end
  end

  # What all nodes share.
  module Files
    def cached_file_data(path, &block)
      block ? super(path) { |*content| BridgedLookup.kept { yield(*content) } } : super
    end
  end

  # Instance variables of a function outlive the call.
  def self.forgetting(function)
    variables = ->(object) { object.instance_variables.to_h { |name| [name, object.instance_variable_get(name)] } }
    before = variables.call(function)
    yield
  ensure
    (function.instance_variables - before.keys).each { |name| function.remove_instance_variable(name) }
    before.each { |name, value| function.instance_variable_set(name, value) }
  end
end

# A catalog that a function adds to is none of the data's.
module NoClasses
  def evaluate_classes(classes, *)
    raise Unknown, "includes #{Array(classes).first(8).join(', ')}, which a catalog would have"
  end
end

# Data that a function reads come from strangers: objects of any class are not made of them.
module PlainObjects
  ALLOWED = %w[Array BigDecimal Complex Date DateTime Hash Range Rational Regexp Set String Symbol Time].freeze

  private

  def find(name)
    return super if ALLOWED.include?(name)

    raise Unknown, "reads YAML that makes an object of the class #{name}"
  end
end

# What an answer's JSON holds.
class Encoder
  LIMIT = 2_000_000

  attr_reader :rich, :interpolate

  # In a `data_hash`, hierad interpolates all, once more in Puppet's view.
  def initialize(is_hash)
    @is_hash = is_hash
    @count = 0
    @rich = false
    @interpolate = false
    @has_plain = false
  end

  def encode(value)
    if Uninterpolated.is?(value)
      @interpolate = true
      return plain(value.__raw)
    end
    encoded = inside(value)
    # Parts that were interpolated among others that were not: the others must have nothing to interpolate.
    return encoded unless @interpolate && @has_plain && !@is_hash

    @interpolate = false
    @count = 0
    plain(made(value))
  end

  # A value as hierad has it before it is interpolated.
  def raw(value)
    plain(value)
  end

  private

  def inside(value)
    if Uninterpolated.is?(value)
      raw = value.__raw
      opens = raw.is_a?(String) && raw.match?(/\A%\{\s*alias\b/)
      raise Unknown, "hands on a part that may be anything: #{raw}" if opens && !@is_hash
      raise Unknown, 'has text with %{literal()} interpolated twice' if @is_hash && BridgedContext.text?(raw, /%\{\s*literal\b/)

      @interpolate = true
      return plain(raw)
    end
    case value
    when Array then value.map { |item| inside(item) }
    when Hash then hash(value) { |item| inside(item) }
    else
      @has_plain ||= value.is_a?(String) && value.include?('%{')
      plain(value)
    end
  end

  # The same value with all parts interpolated.
  def made(value)
    return made(value.__made) if Uninterpolated.is?(value)

    case value
    when Array then value.map { |item| made(item) }
    when Hash then value.map { |key, item| [made(key), made(item)] }.to_h
    else value
    end
  end

  def plain(value)
    @count += 1
    raise Unknown, 'gives a value of too many parts' if @count > LIMIT

    case value
    when nil, true, false, Integer then value
    when Float then number(value)
    when String then text(value)
    when Symbol then typed('Symbol', 'text' => text(value.to_s))
    when Array then value.map { |item| plain(item) }
    when Hash then hash(value) { |item| plain(item) }
    else raise Unknown, "gives a value of the class #{value.class}, which cannot be handed on"
    end
  end

  def hash(value)
    @count += value.size
    @has_plain ||= value.any? { |key, _| !Uninterpolated.is?(key) && key.is_a?(String) && key.include?('%{') }
    return value.map { |key, item| [text(key), yield(item)] }.to_h if value.keys.all? { |key| !Uninterpolated.is?(key) && key.instance_of?(String) } && !value.key?('__hierad')

    typed('Hash', 'pairs' => value.flat_map { |key, item| [yield(key), yield(item)] })
  end

  def typed(name, content)
    @rich = true
    { '__hierad' => name }.merge(content)
  end

  def number(value)
    raise Unknown, "gives the number #{value}, which cannot be handed on" unless value.finite?

    value
  end

  def text(value)
    text = value.encoding == Encoding::UTF_8 ? value : value.dup.force_encoding(Encoding::UTF_8)
    raise Unknown, 'gives a text that is not UTF-8' unless text.valid_encoding?

    text
  end
end

# An environment of some modules, with the functions in it.
class Site
  # The most folders of files of which functions keep what they have read.
  MAX_ROOTS = 64

  # What stands for the environment among the folders of modules is the environment, and no module of that name: Puppet
  # has the functions of its `lib` without a namespace.
  def initialize(modulepath)
    own, modules = modulepath.partition { |folder| File.directory?(File.join(folder, 'environment', 'lib')) }
    environment = Puppet::Node::Environment.create(:production, modules + Puppet[:basemodulepath].split(File::PATH_SEPARATOR))
    Puppet.override(environments: environments(environment, own.first)) do
      @compiler = Puppet::Parser::Compiler.new(Puppet::Node.new('hierad', environment: environment))
      @compiler.loaders
    end
    @scope = @compiler.topscope
    @scope.extend(BridgedScope)
    @environment = environment
    @files = {}
  end

  # Runs a block as if Puppet compiled a catalog here.
  def enter(told)
    @scope.bridge_told = told
    Puppet.override(@overrides ||= @compiler.context_overrides) { yield @scope }
  end

  # A function's own memory: Puppet keeps one for each level and location of a node.
  def function_context(request)
    function = function(request['function'], request['kind'])
    Puppet::Pops::Lookup::FunctionContext.new(files(request['root']), request['module_name'], function)
  end

  private

  def environments(environment, folder)
    return Puppet::Environments::Static.new(environment) unless folder

    Puppet::Environments::StaticDirectory.new(:production, File.join(folder, 'environment'), environment)
  end

  # The files that functions keep, of the last few revisions.
  def files(root)
    @files[root] ||= begin
      @files.shift if @files.size >= MAX_ROOTS
      Puppet::Pops::Lookup::EnvironmentContext.new(@environment)
    end
  end

  # As `FunctionProvider#load_function`.
  def function(name, tag)
    typed = Puppet::Pops::Loader::TypedName.new(:function, name)
    qualifier = typed.qualified? ? typed.name_parts[0] : 'environment'
    loaders = @compiler.loaders
    loader = qualifier == 'environment' ? loaders.private_environment_loader : loaders.private_loader_for_module(qualifier)
    entry = loader&.load_typed(typed)
    raise Unknown, "is not found by the machine's Puppet (#{tag}): neither the repository's modules nor #{Puppet[:basemodulepath]} have it" unless entry&.value

    entry.value
  end
end

# A function at one location, with all that it is told but the key.
class Callee
  include Puppet::Pops::Lookup

  # What no answer may tell.
  attr_reader :stage

  def initialize(request, sites)
    @request = request
    @sites = sites
    @told = Told.new(request['scope'])
    @kind = request['kind']
    @stage = request['stage']
    @options = options
  end

  # As the providers of `pops/lookup` call functions.
  def answer(key)
    Access.within(@request['root'], @request['reads'] && @request['path']) { answer_here(key) }
  end

  # A text without the paths of the folder, which is another each time.
  def stripped(text)
    text = text.dup.force_encoding(Encoding::UTF_8).scrub
    text.gsub("#{@request['root'] || @stage}/", '').gsub("#{@stage}/", '')
  end

  # The last line of the function's code, or of code beside it, that an error comes through; `nil` if it has none.
  def place(error)
    code = "#{@stage}/code/"
    own = "/lib/puppet/functions/#{@request['function'].delete_prefix('::').gsub('::', '/')}.rb"
    locations = [error, error.cause].compact.map(&:backtrace_locations).compact.first || []
    found = locations.find { |location| location.path.start_with?(code) || location.path.end_with?(own) }
    return unless found

    # The folder of the code is another each time.
    path = found.path.start_with?(code) ? found.path.delete_prefix(code).split('/', 2).last : found.path
    { 'file' => path, 'line' => found.lineno }
  end

  private

  def answer_here(key)
    site = @sites[@request['modulepath']]
    site.enter(@told) do |scope|
      @function_context ||= site.function_context(@request)
      context = Context.new(@function_context, Invocation.new(scope, {}, {}))
      context.bridge_told = @told
      context.bridge_interpolated = @request['interpolated']
      called { return encoded(checked(call(scope, key, context), key)) }
    end
    { 'not_found' => true }
  end

  # A call that has looked up other keys leaves nothing behind for the calls of other nodes.
  def called(&block)
    BridgedLookup.within(@request) do
      return catch(:no_such_key, &block) unless @request['lookups']

      BridgedLookup.forgetting(@function_context.function) { catch(:no_such_key, &block) }
    end
  end

  def call(scope, key, context)
    function = @function_context.function
    @kind == 'data_hash' ? function.call(scope, @options.dup, context) : function.call(scope, key, @options.dup, context)
  end

  def options
    given = @request['options']
    return given.merge('path' => @request['path']) if @request['path']

    @request['location'] ? given.merge('uri' => @request['location']) : given
  end

  # As `DataProvider#validate_data_value`; hierad does the same to what a `data_hash` gives.
  def checked(value, key)
    type = DataProvider.value_type
    return value if @kind == 'data_hash' || Uninterpolated.is?(value) || type.instance?(value)

    actual = Puppet::Pops::Types::TypeCalculator.singleton.infer(value)
    key = Array(key).join('.')
    place = @request['path'] || @request['location']
    located = place ? ", when using location '#{place}'," : ''
    raise Puppet::Error, "Value for key '#{key}', returned from #{@kind} function '#{@request['function']}'#{located} has wrong type, expects Puppet::LookupValue, got #{actual}"
  end

  def encoded(value)
    encoder = Encoder.new(@kind == 'data_hash')
    answer = { 'value' => encoder.encode(value) }
    answer['rich'] = true if encoder.rich
    answer['interpolate'] = true if encoder.interpolate
    answer
  end
end

# Answers requests.
class Bridge
  # What may have other reasons than the data: this machine is not the server.
  OWN = [ScriptError, SystemStackError, NoMemoryError, IOError, SignalException, SystemExit].freeze

  # The most bytes of requests for which something is kept, and the most of these.
  MAX_TEXT = 16 << 20
  MAX_CALLEES = 5000

  def initialize
    Puppet.initialize_settings([])
    Puppet::Util::Log.level = :err
    Puppet::Util::Log.newdestination(:console)
    Puppet::Pops::Lookup.singleton_class.prepend(BridgedLookup)
    Puppet::Pops::Lookup::LookupAdapter.prepend(BridgedLookup::Adapter)
    Puppet::Pops::Lookup::Context.prepend(BridgedLookup::Files)
    Puppet::Parser::Compiler.prepend(NoClasses)
    Puppet::Pops::Lookup::Context.prepend(BridgedContext)
    Psych::ClassLoader.prepend(PlainObjects)
    Module.prepend(Uninterpolated::Recognized)
    Access.watch_all
    @sites = Hash.new { |sites, modulepath| sites[modulepath] = Site.new(modulepath) }
    @callees = {}
    @text = 0
  end

  def serve
    REQUESTS.each_line do |line|
      # The key has no hash in it, so this is the first field of the name.
      head, of = line.chomp.split(',"of":', 2)
      head = JSON.parse("#{head}}")
      ANSWERS.write("#{told(head['id'], *answered(head['key'], of.delete_suffix('}')))}\n")
      ANSWERS.flush
    end
  end

  private

  # An answer that names the folder of the files, which is another each time, is none.
  def told(id, answer, callee)
    text = JSON.generate({ 'id' => id }.merge(answer))
    return text unless text.include?(callee.stage)

    JSON.generate('id' => id, 'error' => 'has the path of a file in its answer, which is another here')
  end

  # Returns the answer to a request, and who gave it.
  def answered(key, of)
    Unknown.first = nil
    callee = callee(of)
    answer = begin
      callee.answer(key)
    rescue Exception => e # rubocop:disable Lint/RescueException
      failure(e, callee)
    end
    [unknown(Unknown.first, of, callee) || answer, callee]
  end

  # What a function has kept on its way to a lookup is not used again.
  def unknown(first, of, callee)
    @text -= of.size if first.is_a?(Wanted) && @callees.delete(of)
    return { 'lookup' => first.lookup } if first.is_a?(Wanted)

    first && { 'error' => callee.stripped(first.message) }
  end

  def callee(of)
    @callees[of] ||= begin
      @text += of.size
      @text -= @callees.shift[0].size while @text > MAX_TEXT && !@callees.empty? || @callees.size >= MAX_CALLEES
      Callee.new(JSON.parse(of), @sites)
    end
  end

  def failure(error, callee)
    text = error.message
    own = OWN.any? { |type| error.is_a?(type) } || error.class.name.to_s.match?(/\A(?:Net|OpenSSL|Socket|Timeout)/)
    own ||= error.is_a?(SystemCallError) && !text.include?(callee.stage)
    text = callee.stripped(text)
    # On the server another module, or the environment, may have it.
    absent = text[/Unknown function: '([^']+)'/, 1]
    return { 'error' => "calls the function '#{absent}', which is not in its own module" } if absent

    place = callee.place(error)
    return { 'failed' => text }.merge(place || {}) unless own

    located = place ? " (#{place['file']}:#{place['line']})" : ''
    { 'error' => "fails on this machine: #{error.class}: #{text}#{located}" }
  end
end

begin
  Bridge.new.serve
rescue Errno::EPIPE, SignalException
  nil # Nobody waits for the answer any more.
end
# If hierad was ended, nobody else removes its files. That it is gone shows a moment after its end of the pipe.
sleep 0.02
FileUtils.rm_rf(__dir__) if Process.ppid != HIERAD
