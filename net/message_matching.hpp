// message_matching: which recv gets which message: MPI's rules.
//
// Messages of one source, destination and tag (a channel) are taken in the order in which they were
// sent, recvs of one channel in the order in which they were posted. A recv with a wildcard takes
// the message that arrived first of those it may take, and is posted among the others of its rank.
// All of it is linked through the operations' own states; ranks without wildcards, nearly all, need
// no look-ups at all, because channels are numbered beforehand. Not here: what a match costs
// (loggops_model.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "graph/large_array.hpp"
#include "messages/error.hpp"
#include "net/schedule_progress.hpp"

namespace troupe {

class message_matching {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint32_t link_max = (std::uint32_t{1} << 28) - 1;  ///< of a state

  /// errc::no_resources: more channels than there can be.
  result<void> begin(schedule_progress& progress);

  /// The send started: its place among its channel's.
  void sent(std::uint32_t send) {
    progress_->state(send).set_low(channel_of(send).sent++);
    progress_->state(send).set(operation_phase::flying);
  }
  /// It arrived. False: an earlier one of its channel did not yet; it is kept until then.
  bool arrives_in_order(std::uint32_t send);
  /// After one of a channel (a send's link) arrived in order: the one behind it, if that was kept.
  std::uint32_t take_next_early(std::uint32_t channel);

  /// The posted recv that is to take an arrived message, or none. It stays posted.
  std::uint32_t posted_for(std::uint32_t send) const;
  /// Are there more posted recvs of the channel, and none with a wildcard in this rank?
  bool has_others_posted(std::uint32_t send) const;
  /// Puts the channel's first posted recv behind the others.
  void put_back_first_posted(std::uint32_t send);
  /// Removes what posted_for said.
  void take_posted(std::uint32_t send, std::uint32_t recv);
  /// An arrived message that no posted recv takes.
  void keep_arrived(std::uint32_t send);
  /// Removes and returns the arrived message that a recv is to take, or none.
  std::uint32_t take_arrived(std::uint32_t recv);
  /// A recv that no arrived message is for.
  void post(std::uint32_t recv);

 private:
  /// Arrived messages or posted recvs, never both, in their order, linked by their states' low
  /// halves.
  struct channel {
    std::uint32_t first = none, last = none;
    std::uint32_t sent = 0, arrived = 0;  ///< messages, so far
  };
  /// What a wildcard leaves open: key of a queue; `kind` 0 any tag, 1 any source, 2 both.
  using wildcard_key = std::tuple<int, std::uint32_t, std::uint64_t>;
  struct numbered {
    std::uint32_t number, recv;
  };
  /// A rank that has recvs with wildcards.
  struct wildcard_rank {
    std::map<wildcard_key, std::deque<numbered>> posted;
    std::map<wildcard_key, std::map<std::uint32_t, std::uint32_t>> arrived;  // number → send
    std::uint32_t next_number = 0;
  };

  channel& channel_of(std::uint32_t operation) {
    return channels_[progress_->state(operation).link];
  }
  const channel& channel_of(std::uint32_t operation) const {
    return channels_[progress_->state(operation).link];
  }
  const goal::operation& operation(std::uint32_t index) const {
    return progress_->schedule()[index];
  }
  bool has_posted(const channel& of) const {
    return of.first != none && operation(of.first).kind == goal::operation_kind::recv;
  }
  void append(channel& to, std::uint32_t operation);
  void pop_first(channel& of);
  bool has_wildcard(const goal::operation& recv) const;
  wildcard_rank* wildcards_of(std::uint32_t rank) const {
    return of_rank_.empty() ? nullptr : of_rank_[rank].get();
  }
  wildcard_key key_of(const goal::operation& recv) const;
  /// The keys of the recvs with wildcards that could take a message.
  std::array<wildcard_key, 3> keys_for(const goal::operation& send) const;
  result<void> number_channels();

  schedule_progress* progress_ = nullptr;
  large_array<channel> channels_;
  std::vector<std::unique_ptr<wildcard_rank>> of_rank_;  // empty without wildcards
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> early_;  // channel → place → send
};

}  // namespace troupe
