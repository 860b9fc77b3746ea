// switches_test: the slot table's order against the best there is, found by trying all of them, and
// against the bound that reports state, on small jobs drawn from seeds.
//
// In the model a rank on a slot runs to its next collective; who completes it goes on, who has to
// wait gives the slot up. Ranks on slots run in any order.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>

#include "actors/run_tables.hpp"
#include "actors/slot_table.hpp"

using namespace troupe;

namespace {

constexpr std::size_t ranks_max = 4, slots_max = 2;

struct job {
  std::size_t ranks = 0, slots = 0;
  std::vector<std::vector<std::uint32_t>> groups;         // members
  std::array<std::vector<std::size_t>, ranks_max> steps;  // of each rank: groups
};

job draw(unsigned seed) {
  std::mt19937 random(seed);
  job made;
  made.ranks = 2 + random() % (ranks_max - 1);
  made.slots = 1 + random() % std::min(slots_max, made.ranks - 1);
  std::vector<std::uint32_t> everyone;
  for (std::uint32_t n = 0; n < made.ranks; ++n) everyone.push_back(n);
  made.groups.push_back(everyone);
  for (int extra = 0; extra < 3; ++extra) {
    auto members = everyone;
    std::shuffle(members.begin(), members.end(), random);
    members.resize(2 + random() % (made.ranks - 1));
    std::sort(members.begin(), members.end());
    if (std::find(made.groups.begin(), made.groups.end(), members) == made.groups.end())
      made.groups.push_back(members);
  }
  const auto calls = 1 + random() % 5;
  for (std::size_t call = 0; call < calls; ++call) {
    const auto group = random() % made.groups.size();
    for (auto member : made.groups[group]) made.steps[member].push_back(group);
  }
  return made;
}

constexpr std::uint8_t nobody = 0xff;

struct state {
  std::array<std::uint8_t, ranks_max> done{};  // steps gone through, the one it waits in too
  std::array<bool, ranks_max> waits{};
  std::array<std::uint8_t, slots_max> held{nobody, nobody}, last{nobody, nobody};
  friend auto operator<=>(const state&, const state&) = default;

  bool is_on_slot(std::size_t rank) const {
    return std::find(held.begin(), held.end(), rank) != held.end();
  }
};

/// The rank's next call completes its collective: all other members wait in it.
bool completes(const job& of, const state& at, std::size_t rank) {
  const auto group = of.steps[rank][at.done[rank]];
  const auto count = [&](std::size_t member, std::size_t upto) {
    return std::count(of.steps[member].begin(),
                      of.steps[member].begin() + static_cast<std::ptrdiff_t>(upto), group);
  };
  const auto mine = count(rank, at.done[rank] + 1u);
  return std::all_of(of.groups[group].begin(), of.groups[group].end(), [&](auto member) {
    return member == rank
           || (at.waits[member] && count(member, at.done[member]) == mine
               && of.steps[member][at.done[member] - 1u] == group);
  });
}

/// What becomes of it when the rank on a slot makes its next call, or ends.
struct outcome {
  state now;
  std::vector<std::uint32_t> released;  // others, who may go on
  bool waits = false, ended = false;
};
outcome run_on(const job& of, const state& at, std::size_t slot) {
  outcome made{at, {}, false, false};
  const auto rank = at.held[slot];
  if (at.done[rank] == of.steps[rank].size()) {
    made.ended = true;
  } else if (completes(of, at, rank)) {
    for (auto member : of.groups[of.steps[rank][at.done[rank]]])
      if (made.now.waits[member]) {
        made.now.waits[member] = false;
        made.released.push_back(member);
      }
    ++made.now.done[rank];
    return made;
  } else {
    made.waits = made.now.waits[rank] = true;
    ++made.now.done[rank];
  }
  made.now.held[slot] = nobody;
  made.now.last[slot] = rank;
  return made;
}

bool is_over(const job& of, const state& at, const std::array<bool, ranks_max>& ended) {
  for (std::size_t rank = 0; rank < of.ranks; ++rank)
    if (!ended[rank]) return false;
  return at.held == std::array<std::uint8_t, slots_max>{nobody, nobody};
}

/// The fewest switches, over every order of grants and of ranks on slots.
std::uint64_t best(const job& of) {
  using key = std::pair<state, std::array<bool, ranks_max>>;
  std::map<key, std::uint64_t> cost;
  std::deque<std::pair<key, std::uint64_t>> open{{key{}, 0}};
  cost[key{}] = 0;
  const auto reach = [&](const key& to, std::uint64_t at, bool free) {
    auto [known, fresh] = cost.try_emplace(to, at);
    if (!fresh && known->second <= at) return;
    known->second = at;
    if (free)
      open.emplace_front(to, at);
    else
      open.emplace_back(to, at);
  };
  while (!open.empty()) {
    const auto [at, spent] = open.front();
    open.pop_front();
    if (spent > cost.at(at)) continue;
    const auto& [now, ended] = at;
    if (is_over(of, now, ended)) return spent;
    for (std::size_t slot = 0; slot < of.slots; ++slot) {
      if (now.held[slot] != nobody) {
        const auto rank = now.held[slot];
        const auto next = run_on(of, now, slot);
        auto over = ended;
        over[rank] |= next.ended;
        reach({next.now, over}, spent, true);
        continue;
      }
      for (std::size_t rank = 0; rank < of.ranks; ++rank) {
        if (ended[rank] || now.waits[rank] || now.is_on_slot(rank)) continue;
        auto granted = now;
        granted.held[slot] = static_cast<std::uint8_t>(rank);
        const bool stays = now.last[slot] == rank;
        reach({granted, ended}, spent + (stays ? 0 : 1), stays);
      }
    }
  }
  return ~0ull;
}

communicator_id id_of(std::size_t group) { return {group + 1}; }

/// The slot table's own choice, with ranks on slots taken in an order drawn from the seed.
std::uint64_t as_granted(const job& of, unsigned seed) {
  std::mt19937 random(seed);
  slot_table table{static_cast<std::uint32_t>(of.slots)};
  for (std::size_t group = 0; group < of.groups.size(); ++group) {
    std::vector<rank_id> members;
    for (auto member : of.groups[group]) members.push_back({member});
    table.know_group(id_of(group), members);
  }
  state now;
  const auto grant = [&] {
    while (auto given = table.next())
      now.held[given->slot.value] = static_cast<std::uint8_t>(given->rank.value);
  };
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) table.want({rank}, {}, claim::works);
  grant();
  std::map<std::uint32_t, wait_target> waiting;
  for (;;) {
    std::vector<std::size_t> busy;
    for (std::size_t slot = 0; slot < of.slots; ++slot)
      if (now.held[slot] != nobody) busy.push_back(slot);
    if (busy.empty()) return table.switches();
    const auto slot = busy[random() % busy.size()];
    const std::uint32_t rank = now.held[slot];
    const auto next = run_on(of, now, slot);
    now = next.now;
    if (next.ended) table.leave({rank});
    if (next.waits) {
      const auto step = now.done[rank] - 1u;
      const auto group = of.steps[rank][step];
      const auto sequence =
          std::count(of.steps[rank].begin(), of.steps[rank].begin() + step + 1, group);
      waiting[rank] = {id_of(group), {static_cast<std::uint64_t>(sequence)}};
      table.give_up({rank}, {waiting[rank]});
    }
    for (auto member : next.released) table.want({member}, {waiting.at(member)}, claim::works);
    grant();
  }
}

/// What a report would say.
std::uint64_t bound(const job& of) {
  run_tables tables;
  for (std::size_t group = 0; group < of.groups.size(); ++group) {
    communicator_entry entry;
    entry.id = id_of(group);
    for (auto member : of.groups[group]) entry.members.push_back({member});
    tables.communicator(entry);
  }
  std::array<std::uint32_t, ranks_max> depth{}, at{};
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t group = 0; group < of.groups.size(); ++group) {
      const auto& members = of.groups[group];
      if (!std::all_of(members.begin(), members.end(), [&](auto member) {
            return at[member] < of.steps[member].size() && of.steps[member][at[member]] == group;
          }))
        continue;
      std::uint32_t deepest = 0;
      for (auto member : members) deepest = std::max(deepest, depth[member]);
      for (auto member : members) {
        depth[member] = deepest + 1;
        ++at[member];
      }
      tables.note_depth(deepest + 1, id_of(group));
      moved = true;
    }
  }
  return tables.switches_least(static_cast<std::uint32_t>(of.ranks),
                               static_cast<std::uint32_t>(of.slots));
}

}  // namespace

TEST_CASE("the bound is below the fewest switches, and the slot table is close to them") {
  std::uint64_t bounds = 0, fewest = 0, granted = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    const auto of = draw(seed);
    const auto least = bound(of), exact = best(of), ours = as_granted(of, seed);
    REQUIRE(least <= exact);
    REQUIRE(exact <= ours);
    CHECK(ours <= exact + of.ranks);
    bounds += least;
    fewest += exact;
    granted += ours;
  }
  INFO("bound " << bounds << ", fewest " << fewest << ", slot table " << granted);
  CHECK(static_cast<double>(granted) <= 1.1 * static_cast<double>(fewest));
  CHECK(static_cast<double>(fewest) <= 1.1 * static_cast<double>(bounds));
}
