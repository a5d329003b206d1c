# frozen_string_literal: true

# Random HOCON: documents of the grammar, and the same with something broken in them.
class HoconDocuments
  KEYS = %w[a b c d a.b a.c b.a a.b.c "a" "a.b" 1 10 a-b é true null include x].freeze
  PATHS = %w[a b c d a.b a.c b.a a.b.c a.a x.y "a" "a.b" nothing b.c 1 true].freeze
  WORDS = ['foo', 'bar', 'a b', 'x  y', 'true', 'false', 'null', 'trueish', 'nullable', 'yes', '10 s', '512k', 'é', 'a/b', 'a//b',
           'x#y', 'a.b', '-', '-x', '1.2.3', 'include', "\u00a0z", 'on', 'a-b_c', '%{facts.os}', 'é-'].freeze
  NUMBERS = %w[0 1 -1 10 010 -010 09 00 1.0 1.5 -0.0 1e5 1E+5 1.5e-3 1e30 -2.5 1. .5 -.5 1e 1+2 9223372036854775808 1-2 5.e3 01.5
               0.1 123456789012345678901234567890 --1].freeze
  QUOTED = ['""', '"x"', '"a b"', '"a.b"', '"\\n\\t"', '"\\u00e9"', '"\\ud83d"', '"\\u005f"', '"\\u12"', '"\\x"', '"é"', '"\\""',
            '"""x"""', "\"\"\"a\n \"b\" \"\"\"\"", '""""""', '"${a}"', '"1"', '"true"', '"%{a}"', '"#"', '"\\u 41"', '"\\u0x4"'].freeze
  SEPARATORS = [',', "\n", ' , ', ",\n", "\n\n", " # c\n", " // c\n", "\n# x\n", "\r\n", ",\n,", '', ' ', ',,'].freeze
  ASSIGNS = [':', '=', ' = ', ': ', "\n=\n", '+=', ' += ', ' :', ' '].freeze
  NOISE = ['{', '}', '[', ']', ',', ':', '=', '+=', '"', '"""', '${', '${?', '}', "\n", ' ', '#', '//', '.', '$', '+', '@', '`', '\\', "\t",
           "\xff".b.force_encoding('UTF-8'), "\u0001", "\u2028", 'include ', 'include "x"', 'file(', '-', '1', 'a', '_', "\ufeff"].freeze

  def initialize(dice)
    @dice = dice
  end

  def document
    text = body(0)
    text = "{#{text}}" if one_in(5)
    text = "#{pick(['', "\n", '# c', ' '])}#{text}#{pick(['', "\n", ' ', "\n# end"])}"
    one_in(6) ? broken(text) : text
  end

  private

  def one_in(sides) = @dice.rand(sides).zero?

  def pick(choices) = choices[@dice.rand(choices.size)]

  # Mostly separators that work.
  def separator = one_in(12) ? pick(SEPARATORS) : pick(SEPARATORS.first(9))

  def body(depth)
    Array.new(@dice.rand(depth.zero? ? 9 : 4)) { member(depth) }.join(separator)
  end

  def member(depth)
    return pick(['include "x"', 'include "a.conf"', 'include url("http://x/")', 'include classpath("x")']) if one_in(60)

    key = one_in(12) ? pick(KEYS) : pick(KEYS.first(9))
    return "#{key}#{pick(['', ' ', "\n"])}{#{body(depth + 1)}}" if one_in(6)

    "#{key}#{one_in(8) ? pick(ASSIGNS) : pick(ASSIGNS.first(4))}#{value(depth)}"
  end

  def value(depth)
    pieces = Array.new(one_in(5) ? 1 + @dice.rand(3) : 1) { piece(depth) }
    pieces.join(pick([' ', ' ', '', '  ', "\t"]))
  end

  def piece(depth)
    case @dice.rand(depth > 3 ? 6 : 9)
    when 0, 1 then reference
    when 2 then one_in(2) ? pick(WORDS) : pick(NUMBERS.first(3))
    when 3 then one_in(2) ? pick(NUMBERS.first(3)) : pick(NUMBERS)
    when 4 then one_in(2) ? pick(QUOTED.first(6)) : pick(QUOTED)
    when 5 then pick(WORDS.first(4))
    when 6 then "[#{Array.new(@dice.rand(4)) { value(depth + 1) }.join(separator)}]"
    else "{#{body(depth + 1)}}"
    end
  end

  def reference
    path = one_in(60) ? pick(['', ' a ', 'a b', 'a..b', '"', 'a }', '{a}', '1.2', 'a,b', '${a}', "a\nb"]) : pick(PATHS)
    "${#{pick(['', '?'])}#{path}}"
  end

  def broken(text)
    (1 + @dice.rand(3)).times do
      at = @dice.rand(text.length + 1)
      case @dice.rand(4)
      when 0 then text = text[0...at] + (text[(at + 1)..] || '')
      when 1 then text = text[0...at]
      when 2 then text = text[0...at] + (text[@dice.rand(text.length + 1), 1 + @dice.rand(12)] || '') + text[at..]
      else text = text[0...at] + pick(NOISE) + text[at..]
      end
    end
    text
  end
end
