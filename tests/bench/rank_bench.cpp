// rank_bench: a rank program that measures what ranks feel: switches, small all-reduces, payload
// bandwidth.
//
//   troupe run --world 2  --slots 1 -- rank_bench switch    block → other rank running
//   troupe run --world 64 --slots 2 -- rank_bench small     1 KiB all-reduces a second
//   troupe run --world 2  --slots 2 -- rank_bench payload   16 MiB messages and all-reduces against
//   memcpy
//
// Rank 0 prints the median of several repeats with the lowest and highest. No verdict.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "interpose/client/troupe_client.h"
#include "messages/collective.hpp"

namespace {

using troupe::element_type;
using troupe::operation;
using troupe::reduction;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void must(int status) {
  if (status == 0) return;
  std::fprintf(stderr, "rank_bench: %s\n", troupe_error());
  std::exit(1);
}

struct figures {
  const char* what;
  const char* unit;
  std::vector<double> values;
  void print() {
    std::sort(values.begin(), values.end());
    std::printf("%-44s %10.2f %s  (%.2f … %.2f, %zu repeats)\n", what, values[values.size() / 2],
                unit, values.front(), values.back(), values.size());
  }
};

class job {
 public:
  job() {
    must(troupe_connect());
    std::vector<std::uint32_t> members(troupe_world());
    for (std::uint32_t n = 0; n < members.size(); ++n) members[n] = n;
    must(troupe_open_communicator(members.data(), troupe_world(), 1, "world", &world_));
  }
  ~job() { troupe_leave(); }

  void all_reduce(std::vector<float>& values) {
    const troupe_call call = call_of(operation::all_reduce, reduction::sum, values.size(), 0);
    const troupe_input in{values.data(), values.size() * 4};
    const troupe_output out{values.data(), values.size() * 4};
    must(troupe_issue(world_, &call, &in, 1, &out, 1, nullptr, nullptr, nullptr, nullptr));
  }
  std::uint64_t send(const void* data, std::uint64_t size, int peer) {
    const troupe_call call = call_of(operation::send, reduction::none, size / 4, peer);
    const troupe_input in{data, size};
    std::uint64_t number = 0;
    must(troupe_issue(world_, &call, &in, 1, nullptr, 0, nullptr, nullptr, nullptr, &number));
    return number;
  }
  void recv(void* data, std::uint64_t size, int peer) {
    const troupe_call call = call_of(operation::recv, reduction::none, size / 4, peer);
    const troupe_output out{data, size};
    must(troupe_issue(world_, &call, nullptr, 0, &out, 1, nullptr, nullptr, nullptr, nullptr));
  }
  static void wait(std::uint64_t number) { must(troupe_wait(number, 0)); }

 private:
  static troupe_call call_of(operation op, reduction reduce, std::uint64_t count, int root) {
    troupe_call call{};
    call.op = static_cast<std::uint8_t>(op);
    call.type = static_cast<std::uint8_t>(element_type::f32);
    call.reduction = static_cast<std::uint8_t>(reduce);
    call.count = count;
    call.root = root;
    return call;
  }
  std::uint64_t world_ = 0;
};

/// Two ranks, one slot: the message carries the moment before its sender blocked.
void measure_switches(job& ranks) {
  constexpr int rounds = 2000, repeats = 9;
  figures all{"block → other rank running", "µs", {}};
  const int peer = troupe_rank() == 0 ? 1 : 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::vector<double> each;
    std::uint64_t stamp = 0, got = 0, sent = 0;
    for (int n = 0; n < rounds; ++n) {
      if (troupe_rank() == 0) {
        stamp = now_ns();
        sent = ranks.send(&stamp, sizeof stamp, peer);
      }
      ranks.recv(&got, sizeof got, peer);
      each.push_back(static_cast<double>(now_ns() - got) / 1e3);
      if (sent) job::wait(sent);
      if (troupe_rank() == 1) {
        stamp = now_ns();
        sent = ranks.send(&stamp, sizeof stamp, peer);
      }
    }
    if (troupe_rank() == 1) job::wait(sent);
    std::sort(each.begin(), each.end());
    all.values.push_back(each[each.size() / 2]);
  }
  if (troupe_rank() == 0) all.print();
}

void measure_small(job& ranks) {
  constexpr int rounds = 300, repeats = 5;
  figures all{"1 KiB all-reduces", "/s", {}};
  std::vector<float> values(256, 1.0f);
  ranks.all_reduce(values);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto begin = now_ns();
    for (int n = 0; n < rounds; ++n) {
      values.assign(values.size(), 1.0f);
      ranks.all_reduce(values);
      if (values[0] != static_cast<float>(troupe_world())) must(1);
    }
    all.values.push_back(rounds * 1e9 / static_cast<double>(now_ns() - begin));
  }
  if (troupe_rank() == 0) all.print();
}

void measure_payload(job& ranks) {
  constexpr std::size_t size = 16u << 20;
  constexpr int rounds = 8, repeats = 7;
  std::vector<float> mine(size / 4, 1.0f), other(size / 4);
  figures copies{"memcpy of 16 MiB", "GB/s", {}},
      messages{"send → recv of 16 MiB (one copy in, one out)", "GB/s", {}},
      sums{"all-reduce of 16 MiB, bytes a rank", "GB/s", {}};
  for (int repeat = 0; repeat < repeats + 1; ++repeat) {
    auto rate = [&](auto&& action) {
      const auto begin = now_ns();
      for (int n = 0; n < rounds; ++n) action();
      return static_cast<double>(size) * rounds / static_cast<double>(now_ns() - begin);
    };
    std::vector<float> token(1);
    ranks.all_reduce(token);
    double copied = 0, sent = 0, summed = 0;
    if (troupe_rank() == 0) copied = rate([&] { std::memcpy(other.data(), mine.data(), size); });
    ranks.all_reduce(token);
    if (troupe_rank() < 2)
      sent = rate([&] {
        if (troupe_rank() == 0)
          job::wait(ranks.send(mine.data(), size, 1));
        else
          ranks.recv(other.data(), size, 0);
      });
    ranks.all_reduce(token);
    summed = rate([&] { ranks.all_reduce(mine); });
    if (repeat == 0) continue;  // pages and extents appear
    copies.values.push_back(copied);
    messages.values.push_back(sent);
    sums.values.push_back(summed);
  }
  if (troupe_rank() == 0)
    for (auto* each : {&copies, &messages, &sums}) each->print();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  job ranks;
  if (what == "switch")
    measure_switches(ranks);
  else if (what == "small")
    measure_small(ranks);
  else if (what == "payload")
    measure_payload(ranks);
  else {
    std::fprintf(stderr, "usage: rank_bench switch | small | payload\n");
    return 2;
  }
  return 0;
}
