# frozen_string_literal: true

# Values in the form that the vectors hold them in: Puppet's rich data where JSON has no such value.
module Rich
  module_function

  def typed(type, text) = { '__ptype' => type, '__pvalue' => text }

  def encode(value)
    case value
    when nil, true, false, Integer then value
    when Float then value.finite? ? value : typed('Float', value.to_s)
    when String
      text = value.dup.force_encoding(Encoding::UTF_8)
      text.valid_encoding? ? text : typed('BinaryString', [value].pack('m0'))
    when Symbol then typed('Symbol', value.to_s)
    when Array then value.map { |item| encode(item) }
    when Hash
      if value.keys.all? { |key| key.is_a?(String) && encode(key).is_a?(String) }
        value.to_h { |key, item| [encode(key), encode(item)] }
      else
        typed('Hash', value.flat_map { |key, item| [encode(key), encode(item)] })
      end
    else raise "no vector can hold a #{value.class}"
    end
  end

  def json(value) = JSON.generate(encode(value), max_nesting: 0)

  # Rewrites the lines of a file of cases: the block gets the input and returns what is recorded of it.
  def record(path)
    lines = File.readlines(path, chomp: true).reject(&:empty?).map do |line|
      record = JSON.parse(line).slice('in', 'in64')
      input = record['in64'] ? record['in64'].unpack1('m').force_encoding('UTF-8') : record['in']
      JSON.generate(record.merge(yield(input.dup)))
    end
    File.write(path, "#{lines.uniq.join("\n")}\n")
  end
end
