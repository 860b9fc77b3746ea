// nccl_ring: nccl.hpp's collectives along rings.
#include <algorithm>

#include "graph/schedule/nccl.hpp"

namespace troupe::rounds {
namespace {

/// Who is where on a channel's ring; places count from member 0's.
class nccl_ring_order {
 public:
  nccl_ring_order(const host_layout& hosts, std::uint32_t ring)
      : hosts_(hosts), ring_(hosts.hosts() > 1 ? ring : 0), first_(absolute(0)) {}

  std::uint32_t place(std::uint32_t member) const {
    return (absolute(member) + hosts_.members() - first_) % hosts_.members();
  }
  std::uint32_t member(std::uint32_t place) const {
    const auto at = static_cast<std::uint32_t>((std::uint64_t{place} + first_) % hosts_.members());
    const auto host = hosts_.host_at(at), size = hosts_.size(host);
    return hosts_.member(host, (at - hosts_.begin(host) + ring_) % size);
  }

 private:
  /// Counted from where the ring enters the first host.
  std::uint32_t absolute(std::uint32_t member) const {
    const auto host = hosts_.host(member), size = hosts_.size(host);
    return hosts_.begin(host) + (hosts_.seat(member) + size - ring_ % size) % size;
  }
  const host_layout& hosts_;
  const std::uint32_t ring_, first_;
};

/// What the ring does with a chunk at one member.
struct hop {
  bool gets = false, gives = false;
  combining how{};
};
constexpr hop give{false, true, combining::copy}, take{true, false, combining::copy},
    pass{true, true, combining::copy}, add_and_give{true, true, combining::reduce},
    add_and_keep{true, false, combining::reduce};

/// One member's steps on one channel, in the order of the kernel. A slice is sent when it has come
/// and the buffer has room: its sends, and so the recvs they free, are some slices apart.
class channel_writer {
 public:
  channel_writer(transfer_program& to, const nccl_plan& plan, const nccl_settings& settings,
                 std::uint32_t element_bytes, std::uint16_t lane, bool has_slices)
      : to_(to),
        protocol_(plan.protocol),
        element_(element_bytes),
        step_(settings.buffer_bytes[protocol_] / 8),
        lane_(lane),
        slices_(protocol_ == nccl_protocol::simple && has_slices ? 2 : 1),
        room_(slices_ == 2 ? 4 : 8) {}

  void set_links(std::uint32_t previous, std::uint32_t next) {
    previous_ = previous;
    next_ = next;
  }

  void chunk(const hop& what, std::uint64_t begin, std::uint64_t count) {
    auto size = count;
    if (slices_ == 2)  // Simple: halves, rounded up, but not too small
      size = std::max((count + 31) / 32 * 16, step_ * 2 / element_ / 32);
    for (std::uint32_t i = 0; i < slices_; ++i) {
      const auto length = std::min(size, count);
      slice(what, {vector_name::data, begin, length});
      begin += length;
      count -= length;
    }
  }

 private:
  void slice(const hop& what, element_range range) {
    const auto bytes = wire_bytes(protocol_, range.count * element_);
    if (what.gets) {
      after_.clear();
      if (last_recv_ != nothing) after_.push_back(last_recv_);
      if (sent_by_.size() >= room_) await_send(sent_by_[sent_by_.size() - room_]);
      last_recv_ = to_.recv(previous_, range, what.how, after_, lane_);
      to_.set_bytes(last_recv_, bytes);
    }
    if (what.gives) {
      after_.clear();
      if (last_recv_ != nothing) after_.push_back(last_recv_);
      await_send(sends_.size() + 1);
      sends_.push_back(to_.send(next_, range, after_, lane_));
      to_.set_bytes(sends_.back(), bytes);
    }
    if (what.gets) sent_by_.push_back(sends_.size());
  }
  /// The send that made room for the count'th one.
  void await_send(std::size_t count) {
    if (count > room_) after_.push_back(sends_[count - room_ - 1]);
  }

  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
  transfer_program& to_;
  const nccl_protocol protocol_;
  const std::uint64_t element_, step_;
  const std::uint16_t lane_;
  const std::uint32_t slices_;
  const std::size_t room_;
  std::uint32_t previous_ = 0, next_ = 0, last_recv_ = nothing;
  std::vector<std::uint32_t> sends_, after_;
  std::vector<std::size_t> sent_by_;  // [recv] sends begun when it was used
};

/// Loops of n chunks: reduced to the next one's, then passed around.
void all_reduce_part(channel_writer& to, std::uint32_t place, std::uint32_t members,
                     const nccl_channel_part& part, std::uint64_t element) {
  const auto unit = std::max<std::uint64_t>(16 / element, 1);
  auto chunk = part.chunk;
  for (std::uint64_t begin = 0; begin < part.count; begin += members * part.chunk) {
    const auto left = part.count - begin;
    if (left < members * part.chunk)
      chunk = ((left + members - 1) / members + unit - 1) / unit * unit;
    const auto at = [&](const hop& what, std::uint32_t distance) {
      const std::uint64_t offset = ((place + distance) % members) * chunk;
      const auto count = offset < left ? std::min(chunk, left - offset) : 0;
      to.chunk(what, part.begin + begin + offset, count);
    };
    at(give, members - 1);
    for (std::uint32_t j = 2; j < members; ++j) at(add_and_give, members - j);
    at(add_and_give, 0);
    for (std::uint32_t j = 1; j + 1 < members; ++j) at(pass, members - j);
    at(take, 1);
  }
}

}  // namespace

void nccl_ring(const collective_shape& what, std::uint32_t self, const nccl_plan& plan,
               const host_layout& hosts, const nccl_settings& settings, transfer_program& to) {
  const auto n = what.members;
  const bool has_root = what.op == operation::broadcast || what.op == operation::reduce;
  for (const auto& part : plan.parts) {
    const nccl_ring_order order(hosts, channel_at(part.channel, settings, hosts).ring);
    const auto place = order.place(self);
    channel_writer writer(to, plan, settings, what.element_bytes,
                          static_cast<std::uint16_t>(part.channel), !has_root);
    writer.set_links(order.member((place + n - 1) % n), order.member((place + 1) % n));
    if (what.op == operation::all_reduce) {
      all_reduce_part(writer, place, n, part, what.element_bytes);
      continue;
    }
    // Places behind the root, or before it.
    const auto from_root = (place + n - order.place(what.root)) % n;
    for (std::uint64_t begin = 0; begin < part.count; begin += part.chunk) {
      const auto count = std::min(part.chunk, part.count - begin);
      const auto of_member = [&](const hop& hop, std::uint32_t distance) {
        const auto member =
            order.member(static_cast<std::uint32_t>((std::uint64_t{place} + distance) % n));
        writer.chunk(hop, what.parts.begin(member) + part.begin + begin, count);
      };
      if (what.op == operation::all_gather) {
        of_member(give, 0);
        for (std::uint32_t j = 1; j + 1 < n; ++j) of_member(pass, n - j);
        of_member(take, 1);
      } else if (what.op == operation::reduce_scatter) {
        of_member(give, n - 1);
        for (std::uint32_t j = 2; j < n; ++j) of_member(add_and_give, n - j);
        of_member(add_and_keep, 0);
      } else if (what.op == operation::broadcast) {
        writer.chunk(from_root == 0       ? give
                     : from_root + 1 == n ? take
                                          : pass,
                     part.begin + begin, count);
      } else {
        writer.chunk(from_root == 1   ? give
                     : from_root == 0 ? add_and_keep
                                      : add_and_give,
                     part.begin + begin, count);
      }
    }
  }
}

}  // namespace troupe::rounds
