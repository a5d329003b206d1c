# frozen_string_literal: true

# Encrypts for the test cases, with keys that are nobody's: they lie beside the vectors for every test to read.
#
#   ruby eyaml.rb keys       makes the keys anew; all that was encrypted for the old ones must then be recorded again
#   ruby eyaml.rb blocks     writes blocks for random repositories, ../vectors/eyaml/blocks.txt
#   ruby eyaml.rb secrets    writes the case of 60 secrets, ../vectors/lookup/eyaml_secrets.txt
#
# In a case, <<TEXT>> becomes an encrypted block; escapes in TEXT are those of a Ruby string.
# <<OPTIONS|TEXT>> has some of
# - the name of a cipher: another than that of eyaml, AES-256-CBC;
# - key=NAME: for that key and not for the one called "default"; twice for two;
# - raw: the data in base 64 and no ENC[...] around it;
# - lines=N: in lines of 60 characters, each behind N spaces;
# - ber: streamed, with lengths that are not known in front;
# - cut=N: without the last N bytes; flip=N: with the lowest bit of byte N flipped, counted from the end if negative.
#
# Keys are in /keys there, and in environment variables of the names below; /keys is this machine's folder for Puppet.
require 'fileutils'
require 'json'
require 'open3'
require 'openssl'
require 'hiera/backend/eyaml'
require 'hiera/backend/eyaml/utils'
require 'hiera/backend/eyaml/plugins'
require 'hiera/backend/eyaml/encryptors/pkcs7'
require 'hiera/backend/eyaml/options'

# The gem's own encryption, and the forms of blocks.
module Eyaml
  KEYS = File.expand_path('../vectors/eyaml/keys', __dir__)
  BLOCK = /<<(?:([^|<>]*)\|)?(.*?)>>/
  VARIABLES = { 'EYAML_PRIVATE_KEY' => 'default.key.pem', 'EYAML_PUBLIC_KEY' => 'default.pub.pem' }.freeze

  module_function

  def environment = VARIABLES.transform_values { |name| File.read(File.join(KEYS, name)) }

  # The case's text with its blocks encrypted.
  def expand(text)
    text.gsub(BLOCK) do
      options, plain = Regexp.last_match.captures
      options = options.to_s.split
      named, cipher = options.partition { |option| option.include?('=') || %w[ber raw].include?(option) }
      named = named.group_by { |option| option[/\A\w+/] }.transform_values { |all| all.map { |o| o.split('=', 2)[1] } }
      block(%("#{plain}").undump, cipher.first, named)
    end
  end

  def block(plain, cipher, options)
    data = damaged(encrypt(plain, cipher || 'aes-256-cbc', options['key'] || ['default'], options.key?('ber')), options)
    return [data].pack('m0') if options.key?('raw')

    text = "ENC[PKCS7,#{[data].pack('m0')}]"
    options['lines'] ? text.scan(/.{1,60}/).join("\n#{' ' * options['lines'].first.to_i}") : text
  end

  def encrypt(plain, cipher, keys, ber)
    return streamed(plain, cipher, keys.first) if ber
    return encrypt_as_eyaml(plain, keys.first) if keys.size == 1 && cipher == 'aes-256-cbc'

    certificates = keys.map { |key| OpenSSL::X509::Certificate.new(File.read(File.join(KEYS, "#{key}.pub.pem"))) }
    OpenSSL::PKCS7.encrypt(certificates, plain, OpenSSL::Cipher.new(cipher), OpenSSL::PKCS7::BINARY).to_der
  end

  # As `eyaml encrypt` does.
  def encrypt_as_eyaml(plain, key)
    Hiera::Backend::Eyaml::Options.set('pkcs7_public_key' => File.join(KEYS, "#{key}.pub.pem"))
    Hiera::Backend::Eyaml::Encryptors::Pkcs7.encrypt(plain)
  end

  def streamed(plain, cipher, key)
    command = %W[openssl cms -encrypt -binary -stream -outform DER -#{cipher} #{File.join(KEYS, "#{key}.pub.pem")}]
    output, status = Open3.capture2(*command, stdin_data: plain, binmode: true)
    status.success? ? output : abort('openssl failed')
  end

  def damaged(data, options)
    data = data[0...-options['cut'].first.to_i] if options['cut']
    options['flip']&.each { |at| data.setbyte(at.to_i, data.getbyte(at.to_i) ^ 1) }
    data
  end

  # Random encrypted data: a block a line, some of them damaged.
  def blocks
    plain = ['hunter2', 'a', 'b', 'c', 'web', 'red', '--a', '--red', '5', '', 'true', "two\\nlines", "end\\n", "end\\r\\n", '\u00e9',
             '%{facts.role}', '%{site}-%{role}', "%{lookup('number')}", "%{alias('packages')}", '%{nope}', "%{literal('%')}{site}",
             'a long one with some words in it that goes over several lines of a folded scalar']
    plain *= 2
    plain += ['aes-128-cbc|a', 'aes-192-cbc|b', 'des-ede3-cbc|c', 'aes256 ber|red', 'key=openssl key=default|web',
              'key=openssl|x', 'cut=5|a', 'flip=-1|a', 'key=other|a']
    plain.map { |text| expand("<<#{text}>>") } + ['ENC[PKCS7,AAAA]', 'ENC[word]', 'ENC[PKCS7, ]', 'ENC[]', 'DEC::PKCS7[a]!']
  end

  # eyaml's own keys of several sizes, keys as OpenSSL makes them, and what is no key.
  def make_keys
    FileUtils.mkdir_p(KEYS)
    Dir.chdir(KEYS) do
      { 'default' => 2048, 'other' => 2048, 'small' => 1024, 'large' => 4096 }.each do |name, size|
        FileUtils.rm_f(["#{name}.key.pem", "#{name}.pub.pem"])
        system('eyaml', 'createkeys', "--pkcs7-keysize=#{size}", "--pkcs7-private-key=#{name}.key.pem",
               "--pkcs7-public-key=#{name}.pub.pem", exception: true)
      end
      system('openssl', 'req', '-x509', '-nodes', '-days', '36500', '-newkey', 'rsa:2048', '-subj', '/O=Example/CN=eyaml',
             '-keyout', 'openssl.key.pem', '-out', 'openssl.pub.pem', exception: true, err: File::NULL)
      File.chmod(0o644, *Dir.glob('*.pem'))
      key, certificate = File.read('default.key.pem'), File.read('default.pub.pem')
      File.write('dressed.key.pem', "A remark.\n#{key.gsub("\n", "\r\n")}the end")
      File.write('dressed.pub.pem', "A remark.\n#{certificate.chomp}")
      File.binwrite('default.key.der', OpenSSL::PKey::RSA.new(key).to_der)
      File.binwrite('default.pub.der', OpenSSL::X509::Certificate.new(certificate).to_der)
      File.write('public.key.pem', OpenSSL::PKey::RSA.new(key).public_to_pem)
      File.write('flat.key.pem', key.tr("\n", ' '))
      File.write('junk.pem', "nothing\n")
    end
  end
end

# A data repository of 60 secrets, in every place where one can be, among values that are none.
module Secrets
  HIERA = <<~YAML
    version: 5
    defaults:
      lookup_key: eyaml_lookup_key
      options: {pkcs7_private_key: /keys/default.key.pem, pkcs7_public_key: /keys/default.pub.pem}
    hierarchy:
      - {name: node, path: "node/%{trusted.certname}.eyaml"}
      - {name: site, path: "site/%{facts.site}.eyaml"}
      - {name: common, path: common.eyaml}
      - {name: plain, data_hash: yaml_data, path: common.yaml, options: {}}
  YAML
  FORMS = [
    ->(name, secret) { "#{name}: #{secret}\n" },
    ->(name, secret) { "#{name}: {user: #{name}, password: \"#{secret}\"}\n" },
    ->(name, secret) { "#{name}: [plain, \"#{secret}\", 5]\n" },
    ->(name, secret) { "#{name}: \"postgres://#{name}:#{secret}@db/%{facts.site}\"\n" },
    ->(name, secret) { "#{name}: >\n  #{secret.sub('<<', '<<lines=2|')}\n" },
    ->(name, secret) { "#{name}:\n  deep:\n    - {name: a, token: \"#{secret}\"}\n    - {name: b, token: none}\n" }
  ].freeze

  module_function

  def topic
    sites = %w[north south]
    nodes = (1..4).map { |i| { 'name' => "n#{i}", 'facts' => { 'site' => sites[i % 2] } } }
    files = { 'common' => 1..32, 'site/north' => 33..40, 'site/south' => 41..48, 'node/n1' => 49..54, 'node/n2' => 55..60 }
    text = files.map { |path, numbers| "-- data/#{path}.eyaml\n#{numbers.map { |number| entry(number) }.join}" }
    "# 60 secrets; written by tests/puppet/eyaml.rb.\n\n==== 60 secrets\nnodes: #{JSON.generate(nodes)}\n" \
      "-- hiera.yaml\n#{HIERA}#{text.join}-- data/common.yaml\nlookup_options: {'^merged': {merge: deep}}\n" \
      "again: \"again %{lookup('secret_001')}\"\nplain: text\nmerged: {plain: text}\n"
  end

  # Sites and nodes have other secrets under some of the names in common.
  def entry(number)
    name = format('secret_%03d', number > 32 ? number - 24 : number)
    FORMS[number % FORMS.size].call(name, "<<#{format('plaintext-%03d', number)}>>")
  end
end

if $PROGRAM_NAME == __FILE__
  case ARGV
  when ['keys'] then Eyaml.make_keys
  when ['blocks'] then File.write(File.expand_path('../vectors/eyaml/blocks.txt', __dir__), "#{Eyaml.blocks.join("\n")}\n")
  when ['secrets'] then File.write(File.expand_path('../vectors/lookup/eyaml_secrets.txt', __dir__), Secrets.topic)
  else abort 'keys, blocks or secrets?'
  end
end
