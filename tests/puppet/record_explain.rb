#!/usr/bin/env ruby
# frozen_string_literal: true

# Records how the real Puppet explains lookups in the cases of tests/vectors/lookup.
#
#   ruby record_explain.rb --puppet8-lib DIR
#
# Of some thousand explained lookups it keeps those that together have each kind of line, each two kinds that follow
# each other, each two that stand in one explanation or that one of them has with a way to ask or to fail, and each word
# of a hiera.yaml that says where data come from with each other and with each way to fail. The same goes for data: each
# kind of step in each other, each merge and each field.
# The cases of the topic `explain` are there for this, so each is kept with one key and with several. Of each of TOPICS it writes
# tests/vectors/explain/TOPIC.json; the cases' files and nodes are in the TOPIC.json that record_lookup.rb beside this
# file writes. Topics of encrypted data are none of them: each run encrypts anew.
#
#   [{"name": TEXT,         the case's name
#     "explained": [{"node": NAME, "keys": [KEY...], "only_options": true or absent, "merge": OPTION or absent,
#                    "text": TEXT,   what `puppet lookup --explain` (or `--explain-options`) prints, paths relative to
#                                    the repository, without the error that ends it
#                    "failed": true where an error ends it (no value found among them),
#                    "text8", "failed8": the same of Puppet 8, where it differs
#                    "data": HASH    the same as data, on some}...]
#    }...]
require_relative 'choice'
require_relative 'record_lookup'

EXPLAINED = File.expand_path('../vectors/explain', __dir__)
MOST_KEYS = 3
TOPICS = %w[config convert defaults explain interpolation knockout layers levels merge merge_matrix modules options paths
            spec_global spec_interpolation spec_lookup spec_modules undefined values].freeze

# The explained lookups of a case: its keys one by one on its first node, several at once, options only, another merge.
def lookups(one, keys)
  node = one.profiles.first['name']
  singles = keys.first(MOST_KEYS).map { |key| { 'node' => node, 'keys' => [key] } }
  several = { 'node' => node, 'keys' => ['no such key', *keys.reverse.first(2)] }
  deep = { 'strategy' => 'deep', 'sort_merged_arrays' => false, 'merge_hash_arrays' => true, 'knockout_prefix' => '--' }
  merged = { 'node' => node, 'keys' => keys.first(1), 'merge' => deep }
  options = [keys.first, keys.find { |key| key.include?('::') }].compact.uniq
  singles + [several, merged] + options.map { |key| { 'node' => node, 'keys' => [key], 'only_options' => true } }
end

def explanations(cases, keys, folder, strict, *options)
  # None of the topics has more than one environment.
  requests = write_requests(cases, folder).each_with_index.map do |(request), number|
    request.merge('keys' => [], 'explain' => lookups(cases[number], keys[number]))
  end
  ask(requests, strict, *options).map { |answer| answer['explained'] || abort(answer['error']) }
end

def explained(lookup, puppet7, puppet8, with_data)
  entry = lookup.merge('text' => puppet7['text'])
  entry['failed'] = true if puppet7['error']
  entry['text8'] = puppet8['text'] if puppet8['text'] != puppet7['text']
  entry['failed8'] = !puppet8['error'].nil? if puppet8['error'].nil? != puppet7['error'].nil?
  entry['data'] = puppet7['data'] if with_data
  entry
end

# The words of a hiera.yaml that say where data come from.
WORDS = /\b(?:version:\ \d|default_hierarchy|mapped_paths|(?:path|glob|uri)s?(?=:)|datadir|options(?=:)|hiera3_backend|
          (?:data_hash|lookup_key|data_dig):\ \w+)/x

# The words of all hiera.yaml in a case, with the folder of each.
def words(one)
  configs = one.files.select { |path, _| path.end_with?('hiera.yaml') }
  configs.flat_map { |path, text| text.scan(WORDS).map { |word| "#{path[/\A\w+/]} #{word}" } }.uniq
end

# An explained lookup of a case, and the words of that.
Told = Struct.new(:topic, :name, :entry, :words) do
  # The starts of lines that are no part of a value.
  OWN = /\A(?:Searching|Invalid|Module|Using|Merge|Global|Environment|Hierarchy|Path|URI|Original|Interpolation|Sub key|Options|No such|
             Found|Applying|Deprecated|Unable)/x

  def text_size = JSON.generate(entry.except('data')).bytesize

  def data_size = JSON.generate(entry['data']).bytesize

  def text_features
    asked = entry['only_options'] ? 'options' : (entry['merge'] && 'a merge') || entry['keys'].size
    ways = ["asked: #{asked}", *%w[failed failed8].map { |field| "#{field}: #{entry[field]}" }, "other text: #{entry.key?('text8')}"]
    found = entry.values_at('text', 'text8').compact.flat_map do |text|
      kinds = text.lines.map { |line| kind(line) }

      kinds + kinds.each_cons(2).select { |two| two.all?(OWN) } + Choice.pairs(kinds.grep(OWN) + ways)
    end
    own = topic == 'explain' && asked.is_a?(Integer) ? [[name, asked]] : []
    (found + ways + own + words.product(ways.drop(1)) + Choice.pairs(words)).uniq
  end

  # A line without its names, paths and values.
  def kind(line)
    line.strip.gsub(/"(?:[^"\\]|\\.)*"/, '"_"').gsub(/'(?:[^'\\]|\\.)*'/, "'_'").gsub(/0x\h+/, '0').gsub(/\d+(?:\.\d+)*/, '0')
  end

  def data_features(step = entry['data'], parent = nil)
    fields = step.fetch('__pvalue', []).each_slice(2).to_h { |field, value| [field['__pvalue'], value] }
    own = fields.values_at('type', 'event').map { |symbol| symbol&.fetch('__pvalue') }
    ([[parent, own], fields['merge'], *fields.keys] + fields.fetch('branches', []).flat_map { |branch| data_features(branch, own) }).uniq
  end
end

# Asks for the explained lookups of all cases of a topic.
def told_of(topic, puppet8_lib)
  cases = read_topic(File.join(VECTORS, "#{topic}.txt"))
  keys = recorded_cases(topic).map { |recorded| recorded['keys'] }
  both = [[false], [true, '--puppet-lib', puppet8_lib]].map do |arguments|
    Dir.mktmpdir('hierad_explain') { |folder| explanations(cases, keys, folder, *arguments) }
  end
  cases.each_with_index.flat_map do |one, number|
    pairs = lookups(one, keys[number]).zip(both[0][number], both[1][number])
    pairs.each_with_index.map do |(lookup, *told), at|
      Told.new(topic, one.name, explained(lookup, *told, at == 1), words(one))
    end
  end
end

# Where Puppet shows what its merges have changed, or addresses in memory, data are no two times the same.
CHANGES = /"knockout_prefix" => |#<Puppet::Pops::/

# Chooses the texts first, then the data, some of which come with a text that was not chosen.
def chosen(told)
  texts = Choice.of(told.map(&:text_size), told.map(&:text_features)).map { |number| told[number] }
  with_data = told.select { |one| one.entry.key?('data') && !one.entry['text'].match?(CHANGES) }
  sizes = with_data.map { |one| one.data_size + (texts.include?(one) ? 0 : one.text_size) }
  data = Choice.of(sizes, with_data.map(&:data_features)).map { |number| with_data[number] }
  (told - data).each { |one| one.entry.delete('data') }
  told & (texts | data)
end

def write(topic, told)
  cases = told.group_by(&:name).map do |name, explained|
    "{\"name\": #{JSON.generate(name)}, \"explained\": [\n  #{explained.map { |one| JSON.generate(one.entry) }.join(",\n  ")}]}"
  end
  File.write(File.join(EXPLAINED, "#{topic}.json"), "[\n#{cases.join(",\n")}\n]\n")
end

if $PROGRAM_NAME == __FILE__
  puppet8_lib, = arguments
  told = TOPICS.flat_map { |topic| told_of(topic, puppet8_lib) }
  few = chosen(told)
  FileUtils.rm_rf(EXPLAINED)
  FileUtils.mkdir_p(EXPLAINED)
  few.group_by(&:topic).each { |topic, of_topic| write(topic, of_topic) }
  puts "#{told.size} lookups explained, #{few.size} kept"
end
