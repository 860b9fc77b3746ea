#include "tests/sim/actors/scripted_rank.hpp"

#include <algorithm>
#include <utility>

namespace troupe::sim {

scripted_rank::scripted_rank(rank_id who, std::uint32_t size, payload_pools& pools,
                             process_surroundings& around)
    : me(who), world(size), pools_(pools), around_(around) {}

// --- what a program may do

scripted_rank::pause<void> scripted_rank::compute(nanos time) {
  timer_due_ = false;
  return {*this, [this] { return timer_due_; },
          [this, time] {
            computing_since_ = around_.now();
            around_.wake_after(time);
          },
          [this] {
            cpu_ns_ = cpu_ns();
            computing_since_.reset();
          }};
}

scripted_rank::pause<void> scripted_rank::sleep(nanos time) {
  timer_due_ = false;
  return {*this, [this] { return timer_due_ && running_; },
          [this, time] {
            granted_ = false;
            set_running(false);
            around_.send(to_troupe::blocked{
                release_reason::sleeping, {}, static_cast<std::uint64_t>(around_.now().count())});
            around_.wake_after(time);
          },
          [] {}};
}

scripted_rank::pause<void> scripted_rank::doze(nanos time) {
  timer_due_ = false;
  return {*this, [this] { return timer_due_ && running_; },
          [this, time] {
            granted_ = false;
            asleep_ = true;
            set_running(false);
            around_.wake_after(time);
          },
          [] {}};
}

scripted_rank::pause<void> scripted_rank::yield() {
  auto asked = std::make_shared<bool>(false);
  return {*this, [this, asked] { return *asked && granted_; },
          [this, asked] {
            *asked = true;
            granted_ = false;
            set_running(false);
            around_.send(to_troupe::yielded{static_cast<std::uint64_t>(around_.now().count())});
          },
          [] {}};
}

scripted_rank::pause<void> scripted_rank::exit(std::int32_t status) {
  return {*this, [] { return false; },
          [this, status] {
            around_.send(to_troupe::leave{});
            end(status << 8);
          },
          [] {}};
}

scripted_rank::pause<void> scripted_rank::die(std::int32_t signal) {
  return {*this, [] { return false; }, [this, signal] { end(signal); }, [] {}};
}

communicator_id scripted_rank::open(std::vector<rank_id> members, semantics rules,
                                    const std::string& name, companion_number companion) {
  const auto ordinal = ordinals_[{companion, members}]++;
  const auto group = make_communicator_id(members, ordinal);
  around_.send(
      to_troupe::open_communicator{group, std::move(members), ordinal, rules, name, companion});
  return group;
}

communicator_id scripted_rank::open_world(semantics rules) {
  std::vector<rank_id> everyone;
  for (std::uint32_t rank = 0; rank < world; ++rank) everyone.push_back({rank});
  return open(std::move(everyone), rules, "default_pg");
}

operation_id scripted_rank::issue(communicator_id group, const collective_call& call, payload bytes,
                                  const std::string& site, companion_number companion) {
  call_site_id at;
  if (!site.empty()) {
    auto [known, fresh] =
        sites_.try_emplace(site, call_site_id{static_cast<std::uint32_t>(sites_.size() + 1)});
    at = known->second;
    if (fresh) around_.send(to_troupe::call_site{at, site});
  }
  const auto operation = next_operation(companion);
  const sequence_number sequence{is_point_to_point(call.op) ? 0 : ++sequences_[{companion, group}]};
  around_.send(to_troupe::issue{operation, group, sequence, call, std::move(bytes), at, false,
                                static_cast<std::uint64_t>(around_.now().count())});
  return operation;
}

scripted_rank::pause<answer> scripted_rank::wait(operation_id operation) {
  return {*this, [this, operation] { return is_done(operation); },
          [this, operation] {
            set_running(false);
            blocked_on_ = {operation};
            around_.send(to_troupe::blocked{release_reason::collective,
                                            {operation},
                                            static_cast<std::uint64_t>(around_.now().count())});
          },
          [this, operation] {
            around_.send(
                to_troupe::awaited{{operation}, static_cast<std::uint64_t>(around_.now().count())});
            return answers_.at(operation);
          }};
}

scripted_rank::pause<void> scripted_rank::wait_any(std::vector<operation_id> operations) {
  return {*this,
          [this, operations] {
            return std::any_of(operations.begin(), operations.end(),
                               [this](auto operation) { return is_done(operation); });
          },
          [this, operations] {
            set_running(false);
            blocked_on_ = operations;
            around_.send(to_troupe::blocked{release_reason::collective, operations,
                                            static_cast<std::uint64_t>(around_.now().count())});
          },
          [] {}};
}

scripted_rank::pause<bool> scripted_rank::test(operation_id operation) {
  auto asked = std::make_shared<bool>(false);
  return {*this, [this, operation, asked] { return *asked ? granted_ : is_done(operation); },
          [this, asked] {
            *asked = true;
            granted_ = false;
            set_running(false);
            around_.send(to_troupe::yielded{static_cast<std::uint64_t>(around_.now().count())});
          },
          [this, operation] {
            if (is_done(operation))
              around_.send(to_troupe::awaited{{operation},
                                              static_cast<std::uint64_t>(around_.now().count())});
            return is_done(operation);
          }};
}

scripted_rank::pause<to_rank::stored> scripted_rank::store(store_request request) {
  const auto operation = next_operation();
  const bool blocks = request.waits();
  return {
      *this, [this, operation] { return stored_.contains(operation); },
      [this, operation, blocks, request] {
        around_.send(to_troupe::store{operation, request});
        if (!blocks) return;
        set_running(false);
        blocked_on_ = {operation};
        around_.send(to_troupe::blocked{
            release_reason::store, {operation}, static_cast<std::uint64_t>(around_.now().count())});
      },
      [this, operation] { return stored_.at(operation); }};
}

scripted_rank::pause<to_rank::stored> scripted_rank::add(const std::string& key,
                                                         std::int64_t amount) {
  return store({.kind = store_kind::add, .keys = {key}, .amount = amount});
}

scripted_rank::pause<to_rank::stored> scripted_rank::set(const std::string& key,
                                                         const std::string& value) {
  return store({.kind = store_kind::set, .keys = {key}, .value = {value.begin(), value.end()}});
}

scripted_rank::pause<to_rank::stored> scripted_rank::get(const std::string& key) {
  return store({.kind = store_kind::get, .keys = {key}});
}

scripted_rank::pause<to_rank::stored> scripted_rank::wait_for(const std::string& key,
                                                              nanos timeout) {
  return store({.kind = store_kind::wait,
                .keys = {key},
                .timeout_ns = static_cast<std::uint64_t>(timeout.count())});
}

scripted_rank::pause<to_rank::leased> scripted_rank::lease(std::uint64_t size) {
  const auto operation = next_operation();
  return {*this, [this, operation] { return leased_.contains(operation); },
          [this, operation, size] {
            around_.send(to_troupe::lease{operation, size});
          },
          [this, operation] { return leased_.at(operation); }};
}

void scripted_rank::mark(std::uint8_t kind) {
  around_.send(to_troupe::mark{kind, static_cast<std::uint64_t>(around_.now().count())});
}

payload scripted_rank::place(const region& extent, const std::vector<std::uint8_t>& bytes) {
  const region where{extent.pool, extent.offset + sizeof(region_header), bytes.size(),
                     extent.offset};
  pools_.header_of(where).state = region_header::posted;
  std::memcpy(pools_.bytes_of(where)->data(), bytes.data(), bytes.size());
  regions_.push_back(where);
  return where;
}

// --- what befalls it

void scripted_rank::begin(script program) { program_ = std::move(program); }

void scripted_rank::receive(const to_rank::frame& frame) {
  if (!alive_) return;
  auto answered = [this](operation_id operation) {
    if (std::find(blocked_on_.begin(), blocked_on_.end(), operation) == blocked_on_.end()) return;
    blocked_on_.clear();
    set_running(true);  // the slot came with the answer
  };
  if (std::holds_alternative<to_rank::welcome>(frame)) {
    ask_slot();
  } else if (std::holds_alternative<to_rank::granted>(frame)) {
    granted_ = true;
    set_running(true);
  } else if (auto* completed = std::get_if<to_rank::completed>(&frame)) {
    answer got{completed->why, {}, completed->source};
    for (const auto& piece : completed->pieces) {
      if (auto* bytes = std::get_if<inline_bytes>(&piece)) {
        got.bytes.insert(got.bytes.end(), bytes->begin(), bytes->end());
      } else if (auto* where = std::get_if<region>(&piece)) {
        auto bytes = *pools_.bytes_of(*where);
        const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
        got.bytes.insert(got.bytes.end(), begin, begin + bytes.size());
        --pools_.header_of(*where).state;
      }
    }
    answers_.emplace(completed->operation, std::move(got));
    answered(completed->operation);
  } else if (auto* stored = std::get_if<to_rank::stored>(&frame)) {
    stored_.emplace(stored->operation, *stored);
    answered(stored->operation);
  } else if (auto* leased = std::get_if<to_rank::leased>(&frame)) {
    leased_.emplace(leased->operation, *leased);
  }
  go_on();
}

void scripted_rank::wake() {
  if (!alive_) return;
  timer_due_ = true;
  const bool slept = !running_;
  const bool unnoticed = std::exchange(asleep_, false);
  if (unnoticed && holds_page())
    set_running(true);
  else if (slept)
    ask_slot();
  go_on();
}

void scripted_rank::kill(std::int32_t signal) {
  if (alive_) end(signal);
}

std::uint64_t scripted_rank::cpu_ns() const {
  const auto since = computing_since_ ? around_.now() - *computing_since_ : nanos{0};
  return cpu_ns_ + static_cast<std::uint64_t>(since.count());
}

std::size_t scripted_rank::regions_busy() const {
  std::size_t busy = 0;
  for (const auto& where : regions_) busy += pools_.header_of(where).state != 0;
  return busy;
}

bool scripted_rank::holds_page() const { return pools_.page_of(me).holds_slot == 1; }

void scripted_rank::set_running(bool running) {
  if (std::exchange(running_, running) != running) around_.runs(running);
}

void scripted_rank::ask_slot() { around_.send(to_troupe::take_slot{}); }

void scripted_rank::go_on() {
  if (!running_ || !program_) return;
  if (over_ && !over_()) return;
  over_ = nullptr;
  program_.resume();
  if (!program_.done() || !alive_) return;
  around_.send(to_troupe::leave{});
  end(0);
}

void scripted_rank::end(std::int32_t wait_status) {
  alive_ = false;
  set_running(false);
  around_.ended(wait_status);
}

}  // namespace troupe::sim
