// tree_pipeline: one member's steps in a tree through which a vector goes in chunks, up, down or
// both.
//
// A chunk goes on when it has come from all below (or from above), and its receivers have room. The
// chunks of a link keep their order. Not here: which trees there are (binary_tree.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/schedule/transfer_program.hpp"

namespace troupe {

/// Above and below whom a member is: group ranks.
struct tree_neighbours {
  std::vector<std::uint32_t> above, below;  ///< above: one or none
};

class tree_pipeline {
 public:
  enum class way { up, down, up_and_down };

  /// `room`: chunks that a sender may be ahead of its receiver; 0: any number.
  tree_pipeline(transfer_program& to, tree_neighbours links, std::uint16_t lane, std::size_t room)
      : to_(to),
        lane_(lane),
        room_(room),
        up_{links.below, links.above, {}, {}},
        down_{links.above, links.below, {}, {}} {}

  /// The next chunk; `bytes`: of its messages.
  void pass(element_range chunk, std::uint64_t bytes, way which) {
    after_.clear();
    if (which != way::down) flow_through(up_, chunk, bytes, combining::reduce);
    if (which == way::up) return;
    if (!down_.from.empty() || which == way::down)
      after_.clear();  // else: what has come from below
    flow_through(down_, chunk, bytes, combining::copy);
  }

 private:
  /// From some neighbours to others.
  struct flow {
    std::vector<std::uint32_t> from, to;
    std::vector<std::uint32_t> last_recv;           // [from]
    std::vector<std::vector<std::uint32_t>> sends;  // [chunk][to]
  };

  void await_sends(const flow& of, std::size_t chunks_ago) {
    if (room_ > 0 && of.sends.size() >= chunks_ago) {
      const auto& sent = of.sends[of.sends.size() - chunks_ago];
      before_.insert(before_.end(), sent.begin(), sent.end());
    }
  }

  void flow_through(flow& of, element_range chunk, std::uint64_t bytes, combining how) {
    for (std::size_t i = 0; i < of.from.size(); ++i) {
      before_.clear();
      if (i < of.last_recv.size()) before_.push_back(of.last_recv[i]);
      await_sends(of, 2 * room_);  // what this one's buffer held has been sent on
      const auto got = to_.recv(of.from[i], chunk, how, before_, lane_);
      to_.set_bytes(got, bytes);
      of.last_recv.resize(of.from.size());
      of.last_recv[i] = got;
      after_.push_back(got);
    }
    before_ = after_;
    await_sends(of, room_);
    of.sends.emplace_back();
    for (const auto to : of.to) {
      of.sends.back().push_back(to_.send(to, chunk, before_, lane_));
      to_.set_bytes(of.sends.back().back(), bytes);
    }
  }

  transfer_program& to_;
  const std::uint16_t lane_;
  const std::size_t room_;
  flow up_, down_;
  std::vector<std::uint32_t> after_, before_;
};

}  // namespace troupe
