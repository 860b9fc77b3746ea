#include "net/message_matching.hpp"

#include <bit>
#include <utility>

#include "messages/assert.hpp"

namespace troupe {
namespace {

using goal::operation_kind;

/// The channels that end at one rank, by source and tag.
class channel_table {
 public:
  void begin(std::size_t count_max) {
    ++generation_;
    const auto size = std::bit_ceil(count_max * 2 + 1);
    if (entries_.size() < size) entries_.assign(size, {});
    mask_ = size - 1;
  }
  /// Its channel; `next` if it is new.
  std::uint32_t find(std::uint32_t source, const goal::operation& of, std::uint32_t next) {
    // Wide tags are numbered, so that a number and its kind stand for the tag.
    const auto key =
        (std::uint64_t{of.has_wide_tag} << 63) | (std::uint64_t{source} << 32) | of.narrow_tag;
    auto at = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 24) & mask_;
    while (entries_[at].generation == generation_ && entries_[at].key != key) at = (at + 1) & mask_;
    if (entries_[at].generation != generation_) entries_[at] = {key, next, generation_};
    return entries_[at].channel;
  }

 private:
  struct entry {
    std::uint64_t key{};
    std::uint32_t channel{}, generation{};
  };
  std::vector<entry> entries_;
  std::size_t mask_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace

result<void> message_matching::begin(schedule_progress& progress) {
  progress_ = &progress;
  const auto& all = progress.schedule();
  for (const auto& each : all.operations()) {
    if (each.kind != operation_kind::recv || !has_wildcard(each)) continue;
    if (of_rank_.empty()) of_rank_.resize(all.ranks());
    if (!of_rank_[each.rank]) of_rank_[each.rank] = std::make_unique<wildcard_rank>();
  }
  return number_channels();
}

// Destination by destination, so that only one rank's channels are looked up at a time.
result<void> message_matching::number_channels() {
  const auto& all = progress_->schedule();
  std::vector<std::uint32_t> begin(std::size_t{all.ranks()} + 1);
  for (const auto& each : all.operations())
    if (each.kind == operation_kind::send) ++begin[each.peer + 1];
  for (std::uint32_t rank = 0; rank < all.ranks(); ++rank) begin[rank + 1] += begin[rank];
  std::vector<std::uint32_t> sends(begin.back());
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].kind == operation_kind::send) sends[begin[all[i].peer]++] = i;
  channel_table table;
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < all.ranks(); ++rank) {
    const auto from = rank == 0 ? 0 : begin[rank - 1], to = begin[rank];
    table.begin(std::size_t{to} - from + all.size_of(rank));
    const auto number = [&](std::uint32_t operation, std::uint32_t source) {
      const auto found = table.find(source, all[operation], count);
      count += found == count;
      progress_->state(operation).link = found & link_max;
    };
    for (auto i = from; i < to; ++i) number(sends[i], all[sends[i]].rank);
    for (auto i = all.first_of(rank); i < all.first_of(rank + 1); ++i)
      if (all[i].kind == operation_kind::recv && !has_wildcard(all[i])) number(i, all[i].peer);
    if (count > link_max)
      return error{errc::no_resources,
                   "more than " + std::to_string(link_max) + " channels (source, destination, "
                   "tag)"};
  }
  channels_.resize(count);
  return {};
}

bool message_matching::has_wildcard(const goal::operation& recv) const {
  return recv.peer == goal::any_source
         || (recv.has_wide_tag && progress_->schedule().tag(recv) == goal::any_tag);
}

void message_matching::append(channel& to, std::uint32_t operation) {
  progress_->state(operation).set_low(none);
  if (to.first == none)
    to.first = operation;
  else
    progress_->state(to.last).set_low(operation);
  to.last = operation;
}

void message_matching::pop_first(channel& of) { of.first = progress_->state(of.first).low(); }

bool message_matching::arrives_in_order(std::uint32_t send) {
  auto& state = progress_->state(send);
  auto& channel = channel_of(send);
  if (state.low() == channel.arrived) {
    ++channel.arrived;
    return true;
  }
  state.set(operation_phase::early);
  early_[state.link].emplace(state.low(), send);
  return false;
}

std::uint32_t message_matching::take_next_early(std::uint32_t channel) {
  if (early_.empty()) return none;
  const auto kept = early_.find(channel);
  if (kept == early_.end() || kept->second.begin()->first != channels_[channel].arrived)
    return none;
  const auto send = kept->second.begin()->second;
  kept->second.erase(kept->second.begin());
  if (kept->second.empty()) early_.erase(kept);
  ++channels_[channel].arrived;
  return send;
}

message_matching::wildcard_key message_matching::key_of(const goal::operation& recv) const {
  const auto tag = progress_->schedule().tag(recv);
  if (recv.peer != goal::any_source) return {0, recv.peer, 0};
  if (tag != goal::any_tag) return {1, 0, tag};
  return {2, 0, 0};
}

std::array<message_matching::wildcard_key, 3> message_matching::keys_for(
    const goal::operation& send) const {
  return {wildcard_key{0, send.rank, 0}, wildcard_key{1, 0, progress_->schedule().tag(send)},
          wildcard_key{2, 0, 0}};
}

std::uint32_t message_matching::posted_for(std::uint32_t send) const {
  const auto& channel = channel_of(send);
  const bool has = has_posted(channel);
  const auto* const wildcards = wildcards_of(operation(send).peer);
  if (!wildcards) return has ? channel.first : none;
  auto found = has ? channel.first : none;
  auto number = has ? progress_->state(found).high() : none;
  for (const auto& key : keys_for(operation(send)))
    if (const auto queue = wildcards->posted.find(key);
        queue != wildcards->posted.end() && queue->second.front().number < number) {
      found = queue->second.front().recv;
      number = queue->second.front().number;
    }
  return found;
}

bool message_matching::has_others_posted(std::uint32_t send) const {
  const auto& channel = channel_of(send);
  return has_posted(channel) && channel.first != channel.last
         && !wildcards_of(operation(send).peer);
}

void message_matching::put_back_first_posted(std::uint32_t send) {
  auto& channel = channel_of(send);
  const auto first = channel.first;
  pop_first(channel);
  append(channel, first);
}

void message_matching::take_posted(std::uint32_t send, std::uint32_t recv) {
  if (!has_wildcard(operation(recv))) {
    pop_first(channel_of(send));
    return;
  }
  auto& posted = wildcards_of(operation(recv).rank)->posted;
  const auto queue = posted.find(key_of(operation(recv)));
  queue->second.pop_front();
  if (queue->second.empty()) posted.erase(queue);
}

void message_matching::keep_arrived(std::uint32_t send) {
  progress_->state(send).set(operation_phase::arrived);
  append(channel_of(send), send);
  auto* const wildcards = wildcards_of(operation(send).peer);
  if (!wildcards) return;
  const auto number = wildcards->next_number++;
  progress_->state(send).set_high(number);
  for (const auto& key : keys_for(operation(send))) wildcards->arrived[key].emplace(number, send);
}

std::uint32_t message_matching::take_arrived(std::uint32_t recv) {
  const auto& what = operation(recv);
  auto* const wildcards = wildcards_of(what.rank);
  auto found = none;
  if (!has_wildcard(what)) {
    const auto& channel = channel_of(recv);
    if (channel.first == none || has_posted(channel)) return none;
    found = channel.first;
  } else {
    const auto queue = wildcards->arrived.find(key_of(what));
    if (queue == wildcards->arrived.end()) return none;
    found = queue->second.begin()->second;  // the first of its channel, too
  }
  pop_first(channel_of(found));
  if (wildcards) {
    const auto number = progress_->state(found).high();
    for (const auto& key : keys_for(operation(found))) {
      const auto queue = wildcards->arrived.find(key);
      queue->second.erase(number);
      if (queue->second.empty()) wildcards->arrived.erase(queue);
    }
  }
  return found;
}

void message_matching::post(std::uint32_t recv) {
  const auto& what = operation(recv);
  progress_->state(recv).set(operation_phase::posted);
  auto* const wildcards = wildcards_of(what.rank);
  const auto number = wildcards ? wildcards->next_number++ : 0;
  if (has_wildcard(what)) {
    wildcards->posted[key_of(what)].push_back({number, recv});
    return;
  }
  append(channel_of(recv), recv);
  progress_->state(recv).set_high(number);
}

}  // namespace troupe
