#include "tests/unit/graph/schedule/executed.hpp"

#include <deque>
#include <map>
#include <random>
#include <tuple>

namespace troupe {
namespace {

vector_values& vector_of(member_state& member, vector_name name) {
  return name == vector_name::data     ? member.data
         : name == vector_name::result ? member.result
                                       : member.scratch;
}

class runner {
 public:
  runner(const std::vector<transfer_program>& programs, execution& run, std::uint64_t seed)
      : programs_(programs), run_(run), chance_(seed), state_(programs.size()) {
    for (std::uint32_t member = 0; member < programs.size(); ++member) prepare(member);
  }

  void run() {
    for (std::uint32_t member = 0; member < programs_.size(); ++member)
      release_what_can(member, state_[member].ready);
    while (!runnable_.empty() && !run_.wrong) {
      std::swap(runnable_[chance_() % runnable_.size()], runnable_.back());
      const auto [member, step] = runnable_.back();
      runnable_.pop_back();
      finish(member, step);
    }
    for (std::uint32_t member = 0; member < programs_.size() && !run_.wrong; ++member)
      if (state_[member].left > 0)
        fail(member, "never ends: " + std::to_string(state_[member].left) + " steps left");
    for (const auto& [key, pair] : pairs_)
      if (!run_.wrong && (!pair.sends.empty() || !pair.recvs.empty()))
        fail(std::get<0>(key), "has a message without its other end");
  }

 private:
  struct waiting {
    std::uint32_t step;
    vector_values taken;
  };
  struct pair {
    std::deque<waiting> sends, recvs;
  };
  struct member_steps {
    std::vector<std::uint32_t> missing;  // [step] dependencies
    std::vector<std::vector<std::uint32_t>> dependents;
    std::vector<std::vector<bool>> comes_after;
    std::vector<std::uint32_t> ready;
    std::map<std::tuple<step_kind, std::uint32_t, std::uint16_t>, std::deque<std::uint32_t>> order;
    std::size_t left = 0;
  };
  using key = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>;

  void fail(std::uint32_t member, const std::string& what) {
    run_.wrong = "member " + std::to_string(member) + " " + what;
  }

  void prepare(std::uint32_t member) {
    auto& state = state_[member];
    const auto& program = programs_[member];
    const auto steps = program.steps();
    state.left = steps.size();
    state.missing.resize(steps.size());
    state.dependents.resize(steps.size());
    state.comes_after.assign(steps.size(), std::vector<bool>(programs_.size()));
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      for (const auto earlier : program.dependencies(i)) {
        state.dependents[earlier].push_back(i);
        ++state.missing[i];
      }
      if (state.missing[i] == 0) state.ready.push_back(i);
      state.comes_after[i][member] = true;
      if (steps[i].kind != step_kind::local)
        state.order[{steps[i].kind, steps[i].peer, steps[i].lane}].push_back(i);
    }
    has_data_.push_back(!run_.members[member].data.empty());
    run_.members[member].comes_after.assign(programs_.size(), false);
    run_.members[member].comes_after[member] = true;
  }

  /// Ranges beyond a vector's end go on at its begin; scratch, and a barrier's data, has no end.
  std::uint64_t& at(std::uint32_t member, vector_name name, std::uint64_t index) {
    auto& values = vector_of(run_.members[member], name);
    const bool grows = name == vector_name::scratch || !has_data_[member];
    if (grows && index >= values.size()) values.resize(index + 1);
    return values[grows ? index : index % values.size()];
  }
  vector_values read(std::uint32_t member, const transfer_step& step) {
    vector_values got;
    for (std::uint64_t i = 0; i < step.count; ++i)
      got.push_back(at(member, step.range, step.begin + i));
    return got;
  }
  void write(std::uint32_t member, const transfer_step& step, const vector_values& values) {
    for (std::uint64_t i = 0; i < step.count; ++i) {
      auto& to = at(member, step.range, step.begin + i);
      to = step.how == combining::reduce ? to + values[i] : values[i];
    }
  }

  /// At once, in program order.
  void release_what_can(std::uint32_t member, std::vector<std::uint32_t> steps) {
    std::sort(steps.begin(), steps.end());
    for (const auto step : steps) release(member, step);
  }

  void release(std::uint32_t member, std::uint32_t number) {
    const auto& step = programs_[member].steps()[number];
    if (step.kind == step_kind::local) return runnable_.push_back({member, number});
    auto& order = state_[member].order[{step.kind, step.peer, step.lane}];
    if (order.front() != number)
      return fail(member, "releases step " + std::to_string(number) + " before an earlier one");
    order.pop_front();
    if (step.peer >= programs_.size() || step.peer == member)
      return fail(member, "has no peer " + std::to_string(step.peer));
    if (step.kind == step_kind::send) {
      const key of{member, step.peer, step.lane};
      pairs_[of].sends.push_back({number, read(member, step)});
      match(of);
    } else {
      const key of{step.peer, member, step.lane};
      pairs_[of].recvs.push_back({number, {}});
      match(of);
    }
  }

  void match(const key& of) {
    auto& pair = pairs_[of];
    if (pair.sends.empty() || pair.recvs.empty()) return;
    runnable_.push_back({std::get<1>(of), pair.recvs.front().step});
    flights_[{std::get<1>(of), pair.recvs.front().step}] = {std::get<0>(of),
                                                            std::move(pair.sends.front())};
    pair.sends.pop_front();
    pair.recvs.pop_front();
  }

  void finish(std::uint32_t member, std::uint32_t number) {
    const auto& step = programs_[member].steps()[number];
    if (step.kind == step_kind::local) {
      auto from = step;
      from.range = step.from;
      from.begin = step.from_begin;
      write(member, step, read(member, from));
      return ended(member, number);
    }
    auto flight = std::move(flights_[{member, number}]);
    flights_.erase({member, number});
    const auto& sent = programs_[flight.sender].steps()[flight.what.step];
    if (sent.count != step.count || sent.bytes != step.bytes)
      return fail(member, "gets " + std::to_string(sent.count) + " elements for "
                              + std::to_string(step.count));
    if (read(flight.sender, sent) != flight.what.taken)
      return fail(flight.sender, "changes what it sends, step " + std::to_string(flight.what.step));
    write(member, step, flight.what.taken);
    ++run_.messages;
    run_.bytes += sent.bytes;
    const auto& senders = state_[flight.sender].comes_after[flight.what.step];
    auto& own = state_[member].comes_after[number];
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = own[i] || senders[i];
    ended(member, number);
    ended(flight.sender, flight.what.step);
  }

  void ended(std::uint32_t member, std::uint32_t number) {
    auto& state = state_[member];
    --state.left;
    std::vector<std::uint32_t> ready;
    const auto& known = state.comes_after[number];
    for (std::size_t i = 0; i < known.size(); ++i)
      if (known[i]) run_.members[member].comes_after[i] = true;
    for (const auto later : state.dependents[number]) {
      for (std::size_t i = 0; i < known.size(); ++i)
        if (known[i]) state.comes_after[later][i] = true;
      if (--state.missing[later] == 0) ready.push_back(later);
    }
    release_what_can(member, std::move(ready));
  }

  struct flight {
    std::uint32_t sender = 0;
    waiting what;
  };
  const std::vector<transfer_program>& programs_;
  execution& run_;
  std::mt19937_64 chance_;
  std::vector<member_steps> state_;
  std::vector<bool> has_data_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> runnable_;
  std::map<key, pair> pairs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, flight> flights_;
};

/// Elements [part of `member`] of one's vector.
vector_values part_of(const vector_values& values, const part_layout& parts, std::uint32_t member) {
  return {values.begin() + static_cast<std::ptrdiff_t>(parts.begin(member)),
          values.begin() + static_cast<std::ptrdiff_t>(parts.begin(member + 1))};
}

class expectation {
 public:
  expectation(const std::vector<collective_shape>& shapes, std::uint64_t seed) : shapes_(shapes) {
    std::mt19937_64 chance(seed + 1);
    for (const auto& shape : shapes) {
      member_state member;
      for (std::uint64_t i = 0; i < shape.parts.total(); ++i) member.data.push_back(chance());
      member.result.assign(shape.incoming.total(), 0);
      before.push_back(member);
    }
    for (std::uint64_t i = 0; i < shapes[0].parts.total(); ++i) {
      sum.push_back(0);
      for (const auto& each : before)
        if (i < each.data.size()) sum.back() += each.data[i];
    }
  }

  /// What `member` has wrongly at the end, if anything.
  std::optional<std::string> wrong_of(std::uint32_t member, const member_state& has) const {
    const auto& shape = shapes_[member];
    const auto own = [&](const vector_values& of) { return part_of(of, shape.parts, member); };
    const auto from_all = [&] {
      vector_values all;
      for (std::uint32_t i = 0; i < shape.members; ++i) {
        const auto part = part_of(before[i].data, shapes_[i].parts,
                                  shape.op == operation::all_to_all ? member : i);
        all.insert(all.end(), part.begin(), part.end());
      }
      return all;
    };
    const bool is_root = member == shape.root;
    bool is_right = true;
    switch (shape.op) {
      case operation::all_reduce:
        is_right = has.data == sum;
        break;
      case operation::reduce:
        is_right = !is_root || has.data == sum;
        break;
      case operation::broadcast:
        is_right = has.data == before[shape.root].data;
        break;
      case operation::all_gather:
        is_right = has.data == from_all();
        break;
      case operation::gather:
        is_right = !is_root || has.data == from_all();
        break;
      case operation::scatter:
        is_right = own(has.data) == own(before[shape.root].data);
        break;
      case operation::reduce_scatter:
        is_right = own(has.data) == own(sum);
        break;
      case operation::all_to_all:
        is_right = has.result == from_all();
        break;
      case operation::barrier:
        for (std::size_t i = 0; i < has.comes_after.size(); ++i)
          is_right = is_right && has.comes_after[i];
        break;
      default:
        is_right = false;
    }
    if (is_right) return std::nullopt;
    return "member " + std::to_string(member) + " ends with the wrong numbers";
  }

  std::vector<member_state> before;
  vector_values sum;

 private:
  const std::vector<collective_shape>& shapes_;
};

}  // namespace

execution executed(const std::vector<transfer_program>& programs, std::vector<member_state> before,
                   std::uint64_t seed) {
  execution run;
  run.members = std::move(before);
  runner(programs, run, seed).run();
  return run;
}

execution checked(const std::vector<collective_shape>& shapes,
                  const std::vector<transfer_program>& programs, std::uint64_t seed) {
  const expectation expected(shapes, seed);
  auto run = executed(programs, expected.before, seed);
  for (std::uint32_t i = 0; i < shapes.size() && !run.wrong; ++i)
    run.wrong = expected.wrong_of(i, run.members[i]);
  return run;
}

execution checked(const std::vector<collective_shape>& shapes, const schedule_options& options,
                  std::uint64_t seed) {
  std::vector<transfer_program> programs(shapes.size());
  for (std::uint32_t self = 0; self < shapes.size(); ++self)
    if (auto ok = write_program(shapes[self], self, options, programs[self]); !ok) {
      execution refused;
      refused.wrong = ok.error().context;
      return refused;
    }
  return checked(shapes, programs, seed);
}

}  // namespace troupe
