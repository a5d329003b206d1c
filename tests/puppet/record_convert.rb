#!/usr/bin/env ruby
# frozen_string_literal: true

# Records what the real Puppet's `convert_to` makes of values, into tests/vectors/convert/TOPIC.ndjson, a case a line:
#
#   {"convert_to": V, "value": V, "puppet": {"value": V} or {"error": TEXT}}
#
# or, for the check of `puppet lookup --type`, "type" instead of "convert_to"; "puppet7" and "puppet8" instead of
# "puppet" where the two differ. Values are written as src/verify/resolve.rb does. The cases are below; of those that
# Puppet was asked, some are kept that together have each target, each type with each kind of value, and each error and
# each answer of each type.
#
#   ruby record_convert.rb --puppet8-lib DIR [TOPIC...]
require 'io/wait'
require 'json'

CONVERT = File.join(__dir__, 'convert.rb')
VECTORS = File.expand_path('../vectors/convert', __dir__)

# The most cases of a topic: of more, some are left out evenly.
LIMIT = 1500

def typed(type, text) = { '__ptype' => type, '__pvalue' => text }
def pairs(*entries) = typed('Hash', entries)

# Every target with every value.
def cross(targets, values) = targets.product(values)

DEFAULT = typed('Symbol', 'default')
RICH = [typed('Timestamp', '2020-02-29T12:34:56.789000000 UTC'), typed('Timestamp', '1969-12-31T23:59:59.500000000 UTC'),
        typed('Timespan', '1-02:03:04.5'), typed('Timespan', '-0-00:00:01.25'), typed('SemVer', '1.2.3-rc.1+b.5'),
        typed('SemVerRange', '>=1.0.0 <2.0.0'), typed('Regexp', 'a/(b)'), typed('Binary', 'aGVsbG8='), typed('Binary', '//79'),
        typed('URI', 'http://u@example.com:8080/p?q#f'), typed('Type', 'Integer[1, 3]'), typed('Type', 'Enum[b, a]'),
        typed('Sensitive', 'x'), typed('Sensitive', 5), DEFAULT, typed('Symbol', 'sym')].freeze
SCALARS = [nil, true, false, 0, 1, -5, 255, 65, 2**62, 2**70, -(2**70), 0.0, -0.0, 1.5, -2.75, 1e20, 1e-7, 123_456.789,
           typed('Float', 'NaN'), typed('Float', 'Infinity'), typed('Float', '-Infinity'), '', 'a', 'abc', 'hello world',
           "it's", 'say "x"', "tab\tend", 'é☃', 'a\\b', '$v', ' pad ', 'foo::bar', 'ÀB cD'].freeze
NUMBERS = ['0', '1', '-1', '+1', '- 1', "-\t1", "-\n1", '+ 0x1f', '007', '08', '017', '-017', '0x1F', '0X1f', '-0x1f', '0b11',
           '0B101', '-0b11', '0b12', '0x', '0b', '1_000', '1.5', '-1.5', '+ 1.5', '1.', '.5', '1e3', '1E3', '1e-3', '1e+3', '0.0',
           '00.5', '0e5', '0.0e5', '0.1e2', '1e400', '-1e400', '12345678901234567890', '0xfffffffffffffffffff', ' 1', '1 ', "1\n",
           'abc', '', 'ff', 'true', 'yes', 'No', 'N', 'FALSE', 'tRue', '١', '1.7976931348623157e308', '5e-324',
           '0.1000000000000000055511151231257827', '123456789.123456789'].freeze
COLLECTIONS = [[], [1], [1, 2], [1, 2, 3], ['a', 1], [[1, 2]], [[1, 2], [3, 4]], [[[1], 2]], [['a', 'b'], ['a', 'c']], [nil], [nil, 1],
               [[]], {}, { 'a' => 1 }, { 'a' => 1, 'b' => 'x' }, { 'a' => nil }, { '' => 1 }, pairs(1, 2), pairs(1, 'a', 'b', nil),
               { 'a' => { 'b' => [1, { 'c' => 2.5 }] } }, [1, 1.5], [1, 'a', true], [{ 'a' => 1 }, { 'b' => 2 }], ['a', 'b', 'c'],
               [typed('Timestamp', '2020-01-01T00:00:00.000000000 UTC')], [typed('Sensitive', 1)], [[1, 'a'], { 'x' => [true] }],
               { 'from' => 5 }, { 'from' => '5', 'radix' => 16 }, { 'from' => 'x' }, { 'from' => '7', 'abs' => true, 'x' => 1 },
               { 'value' => 'YWJj' }, { 'value' => [1, 2] }, { 'value' => 'abc', 'format' => '%s' }, { 'string' => '2020-01-01' },
               { 'days' => 1, 'hours' => 2 }, { 'negative' => true, 'seconds' => 3 }, { 'major' => 1, 'minor' => 2, 'patch' => 3 },
               { 'scheme' => 'http', 'host' => 'example.com' }, { 'min' => DEFAULT }].freeze

# Types as they are written, right and wrong.
SIMPLE = %w[Any Undef Default Scalar ScalarData Numeric Integer Float String Enum Pattern Regexp Boolean Collection Array Hash Tuple
            Struct Variant Optional NotUndef Type Iterable Iterator Sensitive Init Binary SemVer SemVerRange Timestamp Timespan URI
            Callable CatalogEntry Class Resource Runtime Object TypeSet Data RichData RichDataKey Puppet::LookupKey
            Puppet::LookupValue File Notify].freeze
BOUNDED = ['Integer[0, 10]', 'Integer[-5]', 'Integer[default, 3]', 'Float[0, 2]', 'String[1]', 'String[2, 3]', 'Enum[a, b]',
           "Enum['A', abc, true]", 'Pattern[/^a/]', 'Pattern[a, /\\d+/]', 'Regexp[/x/]', 'Boolean[true]', 'Collection[1, 2]',
           'Array[Integer]', 'Array[Integer, 1, 2]', 'Array[String, 2]', 'Hash[String, Integer]', 'Hash[String, Any, 1, 1]',
           'Tuple[Integer, String]', 'Tuple[Integer, 0, 2]', 'Tuple[String, Integer, 1, default]', "Struct[{a => Integer}]",
           "Struct[{a => Integer, Optional[b] => String}]", "Struct[{a => Optional[Integer], NotUndef[b] => Any}]",
           'Variant[Integer, String]', 'Variant[Undef, Integer]', 'Variant[Integer[0, 2], Integer[3, 5]]', 'Optional[Integer]',
           'Optional[String[1]]', 'NotUndef[Integer]', 'NotUndef[Optional[String]]', 'Type[Integer]', 'Iterable[Integer]',
           'Iterable[String]', 'Sensitive[String]', 'Sensitive[Integer]', 'Init[Integer]', 'Init[String]', 'Init[Float]', 'Init[Array]',
           'Init[Timestamp]', "Init[Integer, 16]", "Init[String, '%x']", "SemVer['>=1.0.0 <2.0.0']", "Timestamp['2020-01-01', default]",
           "Timespan['0-00:00:01.0', '2-00:00:00.0']", 'Timespan[default, 10]', "URI['http://example.com']", "URI[{scheme => 'http'}]",
           'Array[Variant[Integer, Enum[x, y]], 1]', 'Hash[Enum[a, b], Array[Data]]', 'Optional[Array[Optional[String]]]',
           'Array[Data]', 'Hash[String, Data]', 'Array[RichData]', 'Variant[Array[Integer], Hash[String, Integer]]',
           'Struct[{a => Struct[{b => Array[Integer]}]}]', 'Array[Array[Integer]]', 'Tuple[Tuple[Integer], Array[String]]'].freeze

def topics
  { 'syntax' => -> { syntax }, 'numbers' => -> { numbers }, 'types' => -> { types }, 'collections' => -> { collections },
    'formats' => -> { formats }, 'containers' => -> { containers }, 'times' => -> { times }, 'versions' => -> { versions },
    'texts' => -> { texts }, 'arguments' => -> { arguments }, 'checks' => -> { checks }, 'errors' => -> { errors },
    'malformed' => -> { malformed }, 'inits' => -> { inits }, 'keys' => -> { keys } }
end

# Errors that random conversions have come to.
def errors
  patterns = ['(?<:a+)b', '(?<a+)b', '(?<1a>b)', '(?<9a+)b', '(?<0=a+)b', '(?<-1a)b', '(?<ab', '(?<x>a)\\k<x/', '(?<x>a)\\k</x>', '(?<x>a)\\k<.x>', '(?<x>a)\\k<x=>',
              '(?<x>a)\\k<x.', '(?<x>a)\\k<1x>', '(?i', '(?ia', '(?im-', '(?iq', '(?z)', '\\p{Alpha_', '\\p{Alpha', '\\p{A_B', '\\p{Foo',
              '\\p{Alpha)b', '\\p{', '\\p{Alpha]', '[[:alph::]]', '[[:alpha::]]', '[[:alphax:]]', '[[:^alph:]]', '[[:alpha: ]', '[[:alphax]]',
              '[[:alpha:-]', '{2,1}', '{1,2}', 'a{2,1}', 'a{2,+1}', '{2,1}*', '(?<x=a)\\k<x>', '(?<x)a>b', '(?<x>a)\\k<x)>', '(a)\\k<0>',
              "(a)\\k'0'", '(a)\\k<-0>b', '(a)\\k<5>']
  times = ['2020-01-31T12:30:45é', '2020-01-31T24:00:00é', '2020-01-31T12:30:45 UTCé', '2020-01-31T12:30:45 Ünit standard time',
           '2020-01-31T12:30:45 utc', '2020-01-31 aé']
  types = ['1ee3', '1e', '1Type', '1Enum', '1E3x', '0x1.8p1', '0x1.8p', '0xg', '08', '1.5.2', '12abc'].flat_map do |number|
    ["Init[#{number}]", number]
  end
  optional = ['Variant[Optional, Binary]', 'Hash[Variant[Integer, Type, Optional], String[1, 1]]', 'Array[Variant[Pattern[/a/], Optional]]',
              'Struct[{a => Variant[Optional, Integer]}]', 'Tuple[Variant[Float, Optional]]']
  cross(['Regexp', ['Regexp', false]], patterns) + cross(['Timestamp'], times) + cross(types, ['a']) +
    cross(['URI'], ['é', "é\u007f", "é\t\e", "é\u0001"]) +
    cross(['Array[Init[SemVerRange]]', 'Array[Init[Integer]]', 'Array[Init[Float, 1]]'], [[[[], [1]], [[1], 255]], [{ 'a' => [1] }]]) +
    optional.map { |type| { 'type' => type, 'value' => "i0t's" } } + [{ 'type' => 'Init[Numeric]', 'value' => typed('Symbol', 'sym') }]
end

# Types with faults, of which Puppet names the first that its parser comes to.
def malformed
  lists = ['a,b', 'a,b]', 'Integer,]', 'Array[Integer], 1]', 'Type,,Set', 'I,N[TEGER', 'a;b', 'a;b,c', 'a;', ';', ',', 'a,', 'a,b;', 'fail a', 'fail a, b',
           'fail a, b c', 'a b', "a\n(1)", 'x;(1)', '(1) (2)', 'a [1]', 'I nteger # x', 'Callable[Integer],String]']
  operators = ['1+1', '(1)', '((1))', '1 + (2)', '(f(1))', '-(1)', '!x', '*x', 'a.b', 'a.b(1)', 'a.b(1,)', 'f(1,)', 'x(', 'x (1)', 'x.type', 'x.1', 'Array[a = 1]',
               'Array[a = 1 => 2]', 'Integ.er[1+1]', 'a -> b', 'Array[a -> b]', 'a = b = c', 'Iterat or', 'Array[Integer in', 'a in b', 'a ~ b', 'a +> b', 'X=>1',
               '-Float[a]', '-default', '-/x/', '-true', '-{}', 'Array[Float[a]]', 'Variant[Integer[x], String]', 'Array[1=>2=>3]', 'Array[a=>1,b,c=>2]', 'private']
  resources = ['1{}', '1+1{}', 'a.b(1){}', "'x'{}", 'a-b{}', '{a=>1}{}', 'X{}', 'X[1]{}', 'x{a=>1}', 'x{a+>1}', 'X{a+>1}', 'x{a: b=>1; c: d=>2;}', 'x{,}', 'x{,,}',
               "x{'a'=>1}", 'x{*=>1}', 'Array[Integer, 1{, 2]', 'Integer[default, 3{]', 'Array[a{}]', 'Array[a{}=>1]', 'En{um{[true]', 'Str{in[-3]', 'R{unti:me[ruby]',
               "Timestamp['2020-01-01'{, default]", 'SemVe{r["a b"]:']
  texts = ["'''", '"""', "''''", '"a$ b', '"a$b', '"a$b$c', '"a${b}', '"$', 'Enum["a$b]', 'Enum["a\\tb\\u{41{}"]', '"a\\u{d800}"', 'Enum[a$bb"]',
           "Enum['it\\'s' 'b\\\\']", 'Se,mVer[""x"]', "Integ,er[1,,2']", 'Pattern[/(/', '/Regexp[/x/]', 'Pattern[//(/]', 'Enum[/a/ /b/]', 'Pat tern[/(/]']
  names = ['::a::', '::', ':::Iteger', '::-Integer', 'Enum[a-b, c::]', '::A::', '::A::b', 'A::', '$a::', '$', '::Integer[1]', '::Array[String]', '::Object[{}]',
           '::Resource["a"]', '::Integer']
  numbers = ['0e5', '1e5.5', '1.5x', '1.5.2', 'Integer[1x]', 'Integer[1.5x]', 'Integer[1.]', 'Integer[1é]', 'Integer[1e400]', 'Integer[a,b]', 'Integer[b,a]',
             'Integer[true,3]', 'Integer[[],1]', 'Integer[1,[]]', 'Hash[1,2,34,5]', "URI['http//example.com']", 'Enum[a | b]', 'a ? b', 'Enum[if]', 'Enum[a if']
  (lists + operators + resources + texts + names + numbers).map { |type| { 'type' => type, 'value' => 1 } }
end

# `Init` of types that Puppet cannot generalize or shorten inside of it, and alternatives that it cannot merge.
def inits
  inner = ['Integer', 'Integer[7, 100]', 'String[1]', 'Array', 'Array[Any, 1]', 'Array[Integer]', 'Array[Any]', 'Timestamp[default]',
            'URI[{port => 8080}]', 'Type[Hash[Any, Any, 1]]', 'Sensitive[Integer]', 'Array[Collection[1]]']
  types = inner.flat_map { |type| ["Init[#{type}]", "Sensitive[Init[#{type}]]", "Hash[Init[#{type}], Callable]"] } +
          ['Struct[{a => Init[Array, true]}]', 'Init[Array[Init[Boolean[true]]], 1]', 'Variant[Float, Float[1]]', 'Variant[Float[2, 3], Float[1, 2]]',
           'Variant[Integer[100], Integer[7, 7]]', "Sensitive[NotUndef[Enum[yes, 'A']]]", "Regexp['[y']", 'Variant[Binary, Optional[Optional]]']
  types.product([typed('Timespan', '1-02:03:04.5'), { 'a' => typed('Timespan', '1-02:03:04.5'), 'b' => 1 }]).map { |type, value| { 'type' => type, 'value' => value } } +
    cross(['Numeric'], [[[], [nil]], [[nil], []], [{}, { 'a' => nil }], [[], [1]], [1.5, typed('Float', 'NaN')]]) +
    cross(['Timestamp', 'Array[Hash[String, Integer], 4]'], [pairs('', 65, 'a', pairs('', true), 'b', 77), pairs('', 65, 'a', [true], 'b', 77)])
end

# Keys of a hash that Ruby takes for one, or for several.
def keys
  rich = %w[Timespan:1-00:00:00.0 Timestamp:2020-01-01T00:00:00.000000000\ UTC SemVer:1.2.3 SemVerRange:1.x Regexp:a Binary:aGVsbG8= Type:Integer].map { |text| typed(*text.split(':', 2)) }
  cross(['Hash'], (rich + rich.map { |key| [key] }).map { |key| [[key, 1], [key, 2]] } + [[[0.0, 1], [-0.0, 2]], [[1, 1], [1.0, 2]], [[[-0.0], 1], [[0.0], 2]]])
end

def syntax
  wrong = ['', ' ', 'Integer[', 'Integer]', 'Integer[]', 'Integer[,]', 'Integer[1,,2]', 'Integer[1,2,]', 'Struct[{a}]', 'Struct[{a=>}]',
           'Struct[{a=>Integer,}]', 'String String', 'Enum[type]', 'Enum["a$b"]', 'Enum["a\tb\u{41}"]', 'Integer[08]', 'Integer[0x]',
           'Integer[1.5]', 'Integer[1.5,3]', 'Integer[a,3]', 'Integer[3,1]', 'Integer[1,2,3]', 'Integer[default]', 'Integer[default,3]',
           'Integer[0x1F, 077]', 'Integer[99999999999999999999]', 'Enum[1]', 'Enum[true]', 'Enum[a, true]', "'abc'", '3', '{a=>1}',
           '[Integer]', 'Integer[-1]', 'Integer[-a]', 'Array[1]', 'Array[ 1]', 'Array[1,2]', 'Array[Integer,a]', 'Array[1,2,3,4]',
           'Array[Integer, Integer[1,2]]', 'Hash[String]', 'Hash[1,2]', 'Hash[String,1]', 'Hash[String,Integer,1,2]', 'Hash[1,2,3,4,5]',
           'Tuple[a]', 'Tuple[1]', 'Tuple[1,2]', 'Struct[Integer]', 'Struct[{1=>Integer}]', 'Struct[{""=>Integer}]', 'Pattern[1]',
           'Pattern["("]', 'Pattern[/(/]', 'Pattern[/a\/b/]', 'Pattern[Regexp[/a/], Pattern[b]]', 'Regexp[a]', 'Regexp[/a/]', 'Boolean[1]',
           'Boolean[true,false]', 'Float[1]', 'Float[1,2.5]', 'Float[a]', 'Float[a,b]', 'Float[3,1]', 'String[a]', 'String[3,1]',
           'String[-3]', 'String[Integer[1,2]]', 'String[1,2,3]', 'Data[1]', 'Any[1]', 'Undef[x]', 'ScalarData[1]', 'Optional[a]',
           'Optional[1]', 'Optional[Integer,1]', 'NotUndef[a]', 'NotUndef[1]', 'NotUndef[Any]', 'Sensitive[1]', 'Type[1]', 'Init[1]',
           'Init[Integer,1,2]', 'Collection[1]', 'Collection[a]', 'Variant[1]', 'Variant[Integer]', 'Variant[Integer,Integer]', 'Callable[1]',
           'Callable[Integer]', 'Callable[[Integer],String]', 'Callable[0,0]', 'Callable[Callable]', 'Class[a]', 'Class[1]', 'Resource[file]',
           'Resource[File]', 'Resource[File,a]', 'Resource["a b"]', 'Resource[1]', 'Runtime[ruby,"x"]', 'Runtime[ruby]',
           'Timestamp["2020-01-01"]', 'Timestamp[1,2]', 'Timestamp[2,1]', 'Timestamp["x"]', 'Timespan[1]', 'Timespan[{hours=>1}]',
           'Timespan["x"]', 'Timespan[Integer]', 'Timespan[2,1]', 'SemVer[">1"]', 'SemVer["x"]', 'SemVer["a b"]', 'SemVer[1]',
           'SemVer[">=1.0.0 <2.0.0","3.x"]', 'URI["http://a"]', 'URI[{foo=>"http"}]', 'URI[{host=>Enum[a,b]}]', 'URI[1]', 'TypeSet[{}]',
           'Object[{}]', 'RichData[1]', 'integer', 'integer[1]', '::Integer', 'INTEGER', 'iNTEGER', 'Integer # x', "Integer\n", '(Integer)',
           'Enum[a-b, c::d]', 'Integer.new', '1+1', 'Integer[1+1]', "FILE['x']", "Enum['it\\'s', 'b\\\\']", "Enum['x', \"y\"]"]
  cross(SIMPLE + BOUNDED + wrong, [1, 'abc', nil, { 'a' => 1 }])
end

def numbers
  cross(%w[Integer Float Numeric Boolean Integer[0,100] Optional[Integer] NotUndef[Float]], NUMBERS + SCALARS) +
    cross([['Integer', 16], ['Integer', 2], ['Integer', 8], ['Integer', 10], ['Integer', DEFAULT], ['Integer', 10, true],
           ['Integer', 3], ['Integer', 'x'], ['Integer', 10, 1], ['Integer', 16, false, 1], ['Float', true], ['Float', 1],
           ['Numeric', true], ['Numeric', false], ['Boolean', true]], NUMBERS + [5, -5, -5.5, nil, [1], true])
end

def types = cross(SIMPLE + BOUNDED, SCALARS + RICH)

def collections
  cross(SIMPLE + BOUNDED, COLLECTIONS) +
    cross([%w[Hash tree], %w[Hash hash_tree], ['Hash', 'x'], ['Array', true], ['Array', false], ['Array', 1], ['Tuple[Integer]', true]],
          COLLECTIONS + SCALARS.first(10) +
          [[[['a', 'b'], 1], [['a', 'c'], 2]], [[[], [1, 2]]], [[[], { 'x' => 1 }], [['x'], 2]], [[['a'], [1, [2]]], [['a', 0], 5]],
           [[[1, 2], 'x']], [[[], 5]]])
end

FORMATS = %w^%d %x %X %o %b %B %c %s %p %e %E %f %g %G %a %A %u %C %t %T %y %Y %n %v %V %q %h %z %D %#d %#x %#X %#o %#b %#B %#c %#s %#p
             %#f %#g %#t %#T %#y %#Y %#u %#C %#d %+d %+x %+f %+.2e %-6d| %6d %06d %.3d %08x %-8x %6s %-6s %.2s %6.1s %06s %06.2f %.0f %10p %-10p
             %.3p %[d %<s %(p %{s %|a %#[a %++d %d%d 5d %5 %.d %10.3g %020a %#.0e %#h %#a %#10a^.freeze

def formats
  cross((FORMATS + ['% d', '% x', '% f', '% a', '% s', '', '%', "x\n%d", '%.5b', '%010b']).map { |format| ['String', format] },
        SCALARS.reject { |value| value.is_a?(String) && value.size > 6 } + RICH.reject { |value| value['__ptype'] == 'Timestamp' }) +
    cross([['String', DEFAULT], ['String', nil], ['String', 5], ['String', {}], ['String', { 'Integer' => '%x' }], ['String', '%d', 1], 'String'],
          SCALARS + RICH)
end

def containers
  type = ->(name) { typed('Type', name) }
  maps = [pairs(type['Integer'], '%#x'), pairs(type['Array'], { 'format' => '%<a', 'separator' => ';' }),
          pairs(type['Array'], { 'format' => '%#a', 'separator' => ",", 'string_formats' => pairs(type['Integer'], '%#x', type['String'], '%u') }),
          pairs(type['Hash'], { 'format' => '%#h', 'separator2' => ': ' }, type['Array'], '%(a'),
          pairs(type['Hash'], { 'format' => '% h', 'string_formats' => pairs(type['Any'], '%s') }),
          pairs(type['String'], '%p', type['Numeric'], '%5.1f', type['Boolean'], '%y'), pairs(type['Scalar'], '%s', type['Integer[0, 5]'], '%#b'),
          pairs(type['Any'], '%p'), pairs(type['Collection'], '%#p'), pairs(type['Array[Integer]'], '%|a', type['Struct'], '%(h'),
          pairs(type['Array'], { 'separator' => ';' }), pairs(type['Integer'], '%Z'), pairs(type['Array'], '%d'),
          pairs(type['Array'], { 'format' => '%#6a', 'separator' => ", " })]
  deep = [[1, [2, [3, 'x']], 4], { 'a' => { 'b' => { 'c' => [1, 2] } }, 'd' => [] }, [{ 'a' => [1, { 'b' => 2 }] }, 'end'],
          ['a long text', 'and another', 'third'], [1.5, nil, true, 'q'], pairs(1, [2], 'k', pairs(3, 4)), [[], {}], [[1], [2], 3, [4]]]
  cross((%w^%a %h %s %p %#a %#h %#s %#p %<a %(h %{a %|s %#[a %#(h %#10a %d %#5p^ + ['% a', '% #h']).map { |format| ['String', format] } + ['String'] +
        maps.map { |map| ['String', map] }, COLLECTIONS.first(24) + deep + [5, 'x', nil, true, 1.5])
end

def times
  stamps = ['2020-01-31', '2020-01-31T12:30:45', '2020-01-31 12:30:45.123', '2020-02-31', '2020-13-01', '2020-01-32', '1-1-1', '-0044-03-15',
            '12345-01-01', '2020-01-31T12:30:45 UTC', '2020-01-31 12:30:45.5 EST', '2020-01-31T12:30:45 +0130', '2020-01-31 +02:00', '2020-01-31 XYZ',
            '2020-01-31T24:00:00', '2020-01-31T24:00:01', '2020-01-31T23:59:60', '2020-1-5 3:04', '', ' ', 'x', '2020-01-31T12:30:45.123456789012', '2020-01-31 ',
            '31/01/2020', 'Jan 5 2020', '5 January 2020 3:04 PM', 'Fri, 31 Jan 2020', '20200131', '1580474000', '99', '12:30', '2020-031', '%']
  zones = [nil, 'UTC', 'PST', '+0200', '-05:30', 'xx', '', 'GMT+3', '+1', 'CEST']
  formats = ['%Y-%m-%d', '%d/%m/%Y', '%b %e %Y', '%d %B %Y %I:%M %p', '%a, %d %b %Y', '%Y%m%d', '%s', '%y', '%H:%M', '%Y-%j', '%F %H:%M', '%F %R', '%D', '%%', '%F%n',
             '%C%y', '%Ex', '%Y-%m-%d %:z', '%F %Z', '%FT%T.%L', 'x', '%', ['%F', '%Y%m%d'], ['x', 'yy'], [], 5]
  spans = ['1', '0', '-1', '1.5', '1:2', '1:2:3', '1-2:3:4', '1-2:3:4.5', '-1-2:3:4.005', '25:61:61', '100:00', '1-2:3', '1-2', '', ' 1', 'x', '1.0000000001',
           '99999999999', '10:20:30.123456789', '1h', '02']
  span_formats = ['%H:%M', '%M:%S', '%D', '%S', '%S.%N', '%S.%L', '%-H', '%_H:%M', '%3S', '%-3S', '%_3S', '%H', '%Hh', '%L', '%N', '%D days', '%%%S', '%x', '%', '%-', '%5', '%0H',
                  ['%H:%M', '%S'], ['%x'], ['xx'], 5, '%S%S', '%3N', '%S.%3N', '%S.%-L']
  cross(%w[Timestamp Timespan], stamps + spans + SCALARS + RICH) +
    cross(formats.map { |format| ['Timestamp', format] } + zones.compact.map { |zone| ['Timestamp', '%F', zone] } +
          zones.compact.map { |zone| ['Timestamp', DEFAULT, zone] }, stamps) +
    cross(['%s', '%Q', '%G', '%g', '%F %s', '%s %F', '%Y %s', '%F %Q', '%F %G', '%F%G', '%C %g', '%C %g %Y', '%Y %g', '%y %g', '%s%m %F', '%G%m%d %F'].map { |format| ['Timestamp', format] },
          ['1580474000', '-5', '+5', '2020-01-31 -1580474000', '2020-01-31 +5', '2020-01-31 2019', '2020-01-31-2019', '1580474000 2020-01-31', '2020 99', '20 99', '20 99 1',
           '20 100', '2020 1580474000', '2020-01-31 ', '2020-01-31 x', '2020 7', '70 20', '-20200131 2020-01-31', '20200131 2020-01-31', '2020-01-31 123456789012345678901234567890123456']) +
    cross(span_formats.map { |format| ['Timespan', format] }, spans) +
    cross([['Timespan', 2, 3, 4], ['Timespan', 2, 3, 4, 5, 6, 7], ['Timespan', 'x', 3, 4], ['Timespan', 1, 2], ['Timestamp', 1]], [1, -1, '1', 2**40]) +
    cross(%w[Timestamp Timespan], [{ 'string' => '2020-01-01' }, { 'string' => '1:2', 'format' => '%M:%S' }, { 'string' => '2020', 'format' => '%Y' },
                                   { 'string' => '2020-01-01', 'timezone' => 'PST' }, { 'days' => 1, 'minutes' => -5, 'nanoseconds' => 7 },
                                   { 'days' => '1' }, { 'x' => 1 }, {}, { 'hours' => 2**70 }])
end

def versions
  versions = ['1.2.3', '0.0.0', '1.2', '01.2.3', '1.2.3-rc1', '1.2.3-rc.1.2+build.5', '1.2.3-01', '1.2.3-0', '1.2.3+', '1.2.3-', "1.2.3\n", 'v1.2.3', ' 1.2.3',
              '99999999999999999999.0.0', '1.2.3-α', '']
  ranges = ['1.2.3', '>=1.0.0', '>1.0.0 <2.0.0', '>= 1.0.0 < 2.0.0', '1.x', '1.2.x', '*', 'x', '', ' ', '~1.2.3', '~1.2', '~>1.2', '^1.2.3', '^0.2.3', '^0.0.3',
            '^1.x', '^*', '<=1', '<=1.2', '<=*', '>1', '>1.2', '>*', '1.0.0 - 2.0.0', '1 - 2.1', '>1 || <0.5', '>=1.0.0 <2.0.0 || >=1.5.0 <3.0.0',
            '>=1.0.0 <2.0.0 || >=1.0.0 <2.0.0', '<2 || >=2', '>2 <1', '=1.2.3', '>v1.0.0', '1.2.3-rc1', '>=1.2.3-rc1 <1.2.4', '>x', '<', '1..2', 'abc', '1.2.3 || ', '|| 1.0.0',
            '1.0.0||2.0.0', '>=1.0.0 1.5.0', '1.0.0 2.0.0 3.0.0', '1.2.3 || 1.2.4', '<=1.0.0 || >=1.0.0', '>1.0.0 || 1.0.0', '~=1.2', '1.0.0-a || 2.x']
  cross(%w[SemVer SemVerRange], versions + ranges + SCALARS + RICH) +
    cross([['SemVer', 2, 3], ['SemVer', 2, 3, 'rc.1'], ['SemVer', 2, 3, '1', 'b'], ['SemVer', 2, 3, 'a b'], ['SemVer', -2, 3], ['SemVer', 2]], [1, 'x', -1, 2**70]) +
    cross([['SemVerRange', DEFAULT], ['SemVerRange', typed('SemVer', '2.0.0')], ['SemVerRange', typed('SemVer', '2.0.0'), true], ['SemVerRange', 1]],
          [DEFAULT, typed('SemVer', '1.0.0'), typed('SemVer', '3.0.0'), '1.0.0', typed('SemVer', '2.0.0')]) +
    cross(%w[SemVer SemVerRange], [{ 'major' => 1, 'minor' => 2, 'patch' => 3, 'prerelease' => 'a', 'build' => 'b' }, { 'major' => -1, 'minor' => 2, 'patch' => 3 },
                                   { 'min' => DEFAULT }, { 'min' => typed('SemVer', '1.0.0'), 'max' => typed('SemVer', '2.0.0'), 'exclude_max' => true },
                                   { 'min' => '1.0.0' }, { 'major' => 1 }]) +
    cross(ranges.map { |range| "SemVer[#{range.inspect}]" }, [typed('SemVer', '1.2.3'), typed('SemVer', '1.2.3-rc1'), typed('SemVer', '0.2.5')]) +
    cross(["SemVer['1.x', '2.x']", "SemVer['1.x', '>=1.5.0 <3.0.0', '5.0.0']", "SemVer['1.0.0', '>1.0.0 || <0.5.0']"], [typed('SemVer', '1.2.3'), typed('SemVer', '5.0.0'), 'x'])
end

def texts
  base64 = ['YWJj', 'YWI=', 'YQ==', 'YQ', 'YW Jj', "YWJj\n", '_-8=', '_-8', '/+8=', '!!!!', '', 'YWJjZA', 'Y', 'é', 'YQ=', 'YWJj====', "YWJjYWJj\nYWJj", 'YR==']
  regexps = ['a', 'a/b', 'a\\/b', '(', '[', '*', '(?<x>a)\\k<x>', '', 'a b#c', "a\nb", '\\', 'é', '(?i)a', 'a{2,1}', '\\p{Alpha}', '[[:alpha:]]', '(?<=a+)b', 'a-b.c$']
  uris = ['http://example.com', 'HTTP://Example.COM/Path', 'http://u:p@h:80/a/b?c=d&e#f', 'https://h:443/', 'https://h:8443', 'ftp://h/a;type=i', 'ftp://h', 'mailto:a@b.c', 'mailto:x',
          'file:///etc/hosts', 'file://localhost/x', 'file:/x', 'urn:isbn:1', 'ldap://h/dc=x?cn?sub', 'ldap://h#f', 'puppet:///modules/a/b', '/path', 'path/x', 'a:b', 'a b', 'http://[::1]/',
          'http://[::1', 'http://h:port/', 'http://h:/', '?q', '#f', '', '//h/p', 'http://é/', 'http:', 'http:/', 'http://', 'http:///p', 'x+y.z-1://h', '1x://h', 'http://h/%zz', 'http://h/%20',
          'http://h?a b', 'http://h?%zz', 'http://h?%a', "http://h?\"'<>", 'http://h/a"b', 'http://h#a b', 'http://@h/', 'http://:p@h/', 'http://u:@h/', 'http://h:99999999999', 'a/b:c', 'wss://h',
          'http://1.2.3.4:80', 'http://[v1.a]/', 'http://a_b/', 'x:?q', 'x:/p?q#f']
  parts = [{ 'scheme' => 'http', 'host' => 'h' }, { 'scheme' => 'https', 'host' => 'h', 'port' => 8080, 'path' => '/p', 'query' => 'q', 'fragment' => 'f' }, { 'path' => '/x' },
           { 'scheme' => 'x', 'opaque' => 'o' }, { 'host' => '' }, { 'port' => -1 }, { 'x' => 1 }, {}, { 'scheme' => 'http', 'host' => 'h', 'path' => 'x' }, { 'userinfo' => 'u:p', 'host' => 'h', 'scheme' => 'http' }]
  cross(['%b', '%u', '%B', '%s', '%r', '%x', nil].map { |format| ['Binary', *format] }, base64 + [[1, 2, 255], [256], ['a'], { 'value' => 'YWJj', 'format' => '%B' }, { 'value' => 'YWJj' }, 5]) +
    cross(['Regexp', ['Regexp', true], ['Regexp', false], ['Regexp', 1]], regexps + [5, nil]) +
    cross(['URI', ['URI', 1], "URI['http://example.com']", 'URI[{scheme => Enum[http, https]}]', 'URI[{port => 8080}]', "URI[{host => /^h/}]"], uris + parts + [5, nil]) +
    cross(['Sensitive', ['Sensitive', 1], 'Sensitive[Sensitive]', 'Type', ['Type', 1]], SCALARS.first(8) + RICH + ['Integer', 'Integer[', 'Foo', 'Array[Integer]', 'integer']) +
    cross(['Pattern[/\\Aa/]', 'Pattern[/^a$/, /b/]', 'Enum[a, b]', 'Enum[A, É, true]', 'String[1]', 'String[2, 3]', 'Scalar', 'Regexp'], ['a', 'A', 'b', "a\nb", 'é', 'É', '', 'abc', 'abcd'])
end

def arguments
  wrong = [3, nil, true, [], [nil], [nil, 1], [3], [true], {}, { 'Integer' => 1 }, [['Integer']], [{ 'a' => 1 }], 1.5, typed('Type', 'Integer'), [typed('Type', 'Integer'), 16],
           DEFAULT, [DEFAULT], ['Integer', [1]], ['Integer', nil], ['Integer', 16, nil], ['Integer', { 'a' => 1 }], %w[Undef x], %w[Any x], %w[Data x], ['Variant[Integer]', 16],
           ['NotUndef', 1], ['Optional[Integer]', 16], ['Init[Integer]', 16], ['Init[Integer, 16]', 1], ['Init[Array]', true], ['Array', true, 1], ['Sensitive', true], ['Object', 1]]
  cross(wrong, ['0x1f', 5, nil, [1], { 'a' => 1 }, '7'])
end

# Checks by `--type`.
def checks
  cross(SIMPLE + BOUNDED, [nil, 1, 'abc', 2.5, true, [], [1, 'x'], { 'a' => 'x' }, { 'b' => [1] }, pairs(1, 2), ['a'], [[1], ['x']], typed('Sensitive', 1), typed('SemVer', '3.0.0')])
    .map { |type, value| { 'type' => type, 'value' => value } }
end

# The most seconds for an answer, the first of which comes with Puppet's start.
PATIENCE = 60

# One request at a time, so that one that Puppet does not come to an end with can be named.
def ask(requests, *options)
  IO.popen(['ruby', '--disable=error_highlight,did_you_mean', CONVERT, *options], 'r+') do |puppet|
    requests.map do |request|
      puppet.puts(JSON.generate(request))
      answer = puppet.gets if puppet.wait_readable(PATIENCE)
      next JSON.parse(answer) if answer

      Process.kill(:KILL, puppet.pid)
      abort "no answer to #{JSON.generate(request)}"
    end
  end
end

# Returns true if Puppet would count up to a number that large.
def endless?(request)
  request['value'].is_a?(Integer) && request['value'] > 2**30 && request['convert_to'].to_s.match?(/Array|Tuple|Hash|Struct/)
end

# Messages with an address in memory are never the same twice.
def stable(answer)
  answer['error']&.gsub!(/0x0000\h{12}.*/m, '0x...')
  answer
end

def record(topic, cases, puppet8_lib)
  requests = cases.map { |one| one.is_a?(Hash) ? one : { 'convert_to' => one[0], 'value' => one[1] } }.uniq
  requests.reject! { |request| endless?(request) || request == { 'convert_to' => 'Init[Timestamp]', 'value' => [] } }
  every = (requests.size / LIMIT.to_f).ceil
  requests = requests.each_slice(every).map(&:first)
  lines = requests.zip(ask(requests), ask(requests, '--strict', '--puppet-lib', puppet8_lib)).map do |request, *answers|
    puppet7, puppet8 = answers.map { |answer| stable(answer) }
    JSON.generate(request.merge(puppet7 == puppet8 ? { 'puppet' => puppet7 } : { 'puppet7' => puppet7, 'puppet8' => puppet8 }))
  end
  File.write(File.join(VECTORS, "#{topic}.ndjson"), "#{lines.join("\n")}\n")
  puts "#{topic}: #{lines.size} cases, #{lines.grep(/"puppet7":/).size} differ between the versions"
end

puppet8_lib = ENV.fetch('PUPPET8_LIB', nil)
wanted = ARGV.dup
_, puppet8_lib = wanted.shift(2) if wanted.first == '--puppet8-lib'
abort 'need --puppet8-lib DIR or PUPPET8_LIB' unless puppet8_lib
topics.each { |topic, cases| record(topic, cases.call, puppet8_lib) if wanted.empty? || wanted.include?(topic) }
