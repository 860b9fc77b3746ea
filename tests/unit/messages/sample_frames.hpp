// sample_frames: at least one frame of every kind, with every field set to something of its own;
// for codec tests.
#pragma once

#include <vector>

#include "messages/wire.hpp"

namespace troupe::samples {

inline std::vector<to_troupe::frame> to_troupe_frames() {
  using namespace to_troupe;
  collective_call split{.op = operation::all_to_all,
                        .type = element_type::bf16,
                        .reduce = reduction::none,
                        .count = 6,
                        .root = 0,
                        .tag = 0,
                        .send_counts = {1, 2, 3},
                        .recv_counts = {4, 0, 5},
                        .batched = true};
  collective_call sum{.op = operation::all_reduce,
                      .type = element_type::c128,
                      .reduce = reduction::sum,
                      .count = 1ull << 40,
                      .root = -1,
                      .tag = -7,
                      .send_counts = {},
                      .recv_counts = {},
                      .batched = false};
  return {
      hello{.version = 2, .rank = {8191}, .pid = 4242},
      take_slot{},
      open_communicator{.communicator = {0xfedcba9876543210ull},
                        .members = {{3}, {1}, {4000000000u}},
                        .ordinal = 9,
                        .rules = semantics::mpi,
                        .name = "tensor parallel ×2",
                        .companion = 3},
      open_communicator{},
      call_site{.id = {77}, .text = "train.py:42 in step"},
      issue{.operation = {1},
            .communicator = {2},
            .sequence = {3},
            .call = split,
            .payload = inline_bytes{1, 2, 3, 255},
            .site = {5},
            .as_future = true,
            .at_ns = ~0ull},
      issue{.operation = {9},
            .communicator = {8},
            .sequence = {7},
            .call = sum,
            .payload = region{.pool = 1, .offset = 4096, .length = 1u << 30, .header = 64},
            .site = {0},
            .as_future = false,
            .at_ns = 6},
      issue{},
      blocked{.reason = release_reason::sleeping,
              .operations = {{10}, {11}},
              .at_ns = 12,
              .threads = {18, 19},
              .takes_signals = true},
      awaited{.operations = {{13}}, .at_ns = 14},
      yielded{.at_ns = 15},
      lease{.operation = {16}, .size = 1ull << 33},
      store{.operation = {17},
            .request = {.kind = store_kind::compare_set,
                        .keys = {"a", "", "ключ"},
                        .value = {0, 1},
                        .expected = {2},
                        .amount = -3,
                        .timeout_ns = 4}},
      store{.operation = {18},
            .request = {.kind = store_kind::num_keys,
                        .keys = {},
                        .value = {},
                        .expected = {},
                        .amount = {},
                        .timeout_ns = {}}},
      mark{.kind = 3, .at_ns = 19},
      future_taken{.operation = {20}},
      leave{},
      abort_communicator{.communicator = {21}, .companion = 4095},
      copied{.size = 1ull << 33, .duration_ns = 22, .at_ns = 23},
  };
}

inline std::vector<to_rank::frame> to_rank_frames() {
  using namespace to_rank;
  return {
      welcome{.world = 1024,
              .slots = 2,
              .pool_sizes = {1u << 30, 1ull << 40},
              .rank_page_offset = 640,
              .inline_limit = 4096,
              .start_ns = 123456789},
      refused{.text = "rank 3 is connected already"},
      granted{},
      completed{.operation = {1}, .why = {}, .pieces = {}, .source = -1},
      completed{.operation = {2},
                .why = {errc::lost_rank, "rank 5 is gone"},
                .pieces = {std::monostate{}, inline_bytes{9, 8},
                           region{.pool = 0, .offset = 128, .length = 64, .header = 0}},
                .source = 5},
      leased{.operation = {3},
             .why = {errc::no_resources, ""},
             .region = {.pool = 1, .offset = 1, .length = 2, .header = 3}},
      stored{
          .operation = {4}, .why = {errc::timed_out, "key"}, .reply = {.value = {7}, .number = -9}},
  };
}

inline std::vector<from_launcher::frame> from_launcher_frames() {
  using namespace from_launcher;
  return {started{.rank = {1}, .pid = 100},
          ended{.rank = {2}, .pid = 101, .wait_status = 0x8b, .cpu_ns = 55, .peak_bytes = 66},
          failed{.why = {errc::usage, "no such program: trian.py"}}};
}

inline std::vector<to_launcher::frame> to_launcher_frames() {
  return {to_launcher::signal{.number = 15}, to_launcher::end{}};
}

}  // namespace troupe::samples
