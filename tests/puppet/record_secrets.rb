# frozen_string_literal: true

# Encrypts the texts that tests/it/secrets.rs searches for in all that hierad writes, each twice: to encrypt one anew
# is to take the other block. All of them hold one of two marks: no output may.
#
#   ruby record_secrets.rb    writes tests/vectors/secrets.json
require 'json'
require_relative 'eyaml'

TEXTS = [
  'hush01',
  'hush02 "quoted" \\ and \'so\'',
  "hush03 line\nanother hush line\n\n  and a third",
  'hush04 %{lookup(\'public\')} and so on',
  'hush05 %{lookup(\'hush_no_such_key\')}',
  'hush06 %{hush_no_such_variable}',
  '%{alias(\'hush_no_such_alias\')}',
  'hush08 %{hush_no_such_method(\'x\')}',
  'hush09 %{lookup(\'k0.hush_no_such_entry\')}',
  'hush10 %{lookup(\'k1\')} %{lookup(\'k2\')}',
  'hush11 é日本 😀',
  'hush12 <b>@everyone</b> | ``` </details> [x](y)',
  '--hush01',
  'hush14: {a: [1, 2]}',
  "hush15 \e[31m\a",
  'hush ' * 300,
  'hush17 of %{trusted.certname}',
  'web01.example.com hush18',
  'hush19',
  'hush20%{}%{::}',
  '%{lookup(\'public.hush_entry\')}',
  '%{hiera(\'hush22\')}',
  'hush23/path?to=hush&x=%41',
  'hush_24',
  "hush25\t\u00a0\u200b",
  '7359248160',
  '73592481.60',
  '7359248160KB'
].freeze

blocks = TEXTS.map { |text| { text: text, blocks: Array.new(2) { Eyaml.block(text, 'aes-256-cbc', {}) } } }
File.write(File.expand_path('../vectors/secrets.json', __dir__), "#{JSON.pretty_generate(blocks)}\n")
