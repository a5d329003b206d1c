# frozen_string_literal: true

# Chooses some of the recorded cases, so that each feature that any of them has is one of a chosen case, too.
#
# Features are what a recorder says: kinds of lines, pairs of them, types, texts of errors. The choice is the same for
# the same cases: among those that are equally good, a seed decides.
module Choice
  SEED = 7

  module_function

  # Returns the numbers of the chosen cases, in order. A case is its size and the list of its features.
  def of(sizes, features)
    order = (0...sizes.size).to_a.shuffle(random: Random.new(SEED))
    chosen = greedy(order, sizes, features)
    counts = Hash.new(0)
    chosen.each { |number| features[number].each { |feature| counts[feature] += 1 } }
    # A large one whose features later ones have together is not needed any more.
    chosen.sort_by { |number| [-sizes[number], order.index(number)] }.each do |number|
      next unless features[number].all? { |feature| counts[feature] > 1 }

      features[number].each { |feature| counts[feature] -= 1 }
      chosen.delete(number)
    end
    chosen.sort
  end

  # Takes the case with the most new features for its size, until there are none.
  def greedy(order, sizes, features)
    seen = {}
    left = order.map { |number| [features[number].size.to_f / sizes[number], number] }
    chosen = []
    until left.empty?
      # What a case adds only shrinks, so the best by an older count is the best if it still is better than the next.
      left.sort_by! { |gain, _| -gain } if chosen.empty?
      _, number = left.shift
      gain = features[number].count { |feature| !seen[feature] }.to_f / sizes[number]
      if gain.positive? && !left.empty? && gain < left.first.first
        left.insert(left.bsearch_index { |other, _| other <= gain } || left.size, [gain, number])
      elsif gain.positive?
        chosen << number
        features[number].each { |feature| seen[feature] = true }
      end
    end
    chosen
  end

  # Returns all pairs of some features.
  def pairs(features) = features.uniq.sort.combination(2).to_a
end
