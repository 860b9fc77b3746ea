// collective_test: sizes balance over a group, impossible calls are refused with their reason,
// names are the field's.
#include "messages/collective.hpp"

#include <catch2/catch.hpp>

using namespace troupe;

namespace {

collective_call call_of(operation op, std::uint64_t count = 12, std::int32_t root = 1) {
  collective_call call;
  call.op = op;
  call.type = element_type::f32;
  call.reduce = reduces(op) ? reduction::sum : reduction::none;
  call.count = op == operation::barrier ? 0 : count;
  call.root = root;
  return call;
}

void check_refused(const collective_call& call, errc code, const std::string& why) {
  auto checked = validate(call, 0, 4);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == code);
  CHECK(checked.error().context.find(why) != std::string::npos);
}

}  // namespace

TEST_CASE("what members give and get is what each operation says") {
  struct {
    operation op;
    std::uint64_t root_in, other_in, root_out, other_out;
  } rows[] = {
      {operation::all_reduce, 12, 12, 12, 12},   {operation::broadcast, 12, 0, 0, 12},
      {operation::reduce, 12, 12, 12, 0},        {operation::all_gather, 12, 12, 48, 48},
      {operation::reduce_scatter, 12, 12, 3, 3}, {operation::all_to_all, 12, 12, 12, 12},
      {operation::gather, 12, 12, 48, 0},        {operation::scatter, 48, 0, 12, 12},
      {operation::barrier, 0, 0, 0, 0},          {operation::send, 12, 12, 0, 0},
      {operation::recv, 0, 0, 12, 12},
  };
  REQUIRE(std::size(rows) == operation_count);
  for (auto& row : rows) {
    auto call = call_of(row.op);
    INFO(describe(call));
    CHECK(input_count(call, 1, 4) == row.root_in);
    CHECK(input_count(call, 0, 4) == row.other_in);
    CHECK(output_count(call, 1, 4) == row.root_out);
    CHECK(output_count(call, 0, 4) == row.other_out);
    CHECK(validate(call, 0, 4));
  }
}

TEST_CASE("splits decide what all_to_all gives and gets") {
  auto call = call_of(operation::all_to_all, 6);
  call.send_counts = {1, 2, 3, 0};
  call.recv_counts = {5, 0, 0, 5};
  CHECK(validate(call, 0, 4));
  CHECK(input_count(call, 0, 4) == 6);
  CHECK(output_count(call, 0, 4) == 10);
  call.recv_counts = {0, 0, 0, 0};
  CHECK(output_count(call, 0, 4) == 0);
  call.recv_counts.pop_back();
  check_refused(call, errc::mismatch, "receive splits");
  call.recv_counts.push_back(0);
  call.send_counts[0] = 2;
  check_refused(call, errc::mismatch, "add up");
  call.send_counts = {~0ull, 7, 0, 0};
  check_refused(call, errc::mismatch, "add up");
  auto reduced = call_of(operation::all_reduce);
  reduced.send_counts = {1, 2, 3, 0};
  check_refused(reduced, errc::bad_input, "only all_to_all");
}

TEST_CASE("roots and peers lie inside the group") {
  for (auto op : {operation::broadcast, operation::reduce, operation::gather, operation::scatter,
                  operation::send, operation::recv})
    for (std::int32_t root : {-2, 4, 1 << 30}) {
      check_refused(call_of(op, 12, root), errc::mismatch, "outside the group");
    }
  check_refused(call_of(operation::send, 12, any_source), errc::mismatch, "outside the group");
  CHECK(validate(call_of(operation::recv, 12, any_source), 0, 4));
  CHECK(validate(call_of(operation::all_reduce, 12, 99), 0, 4));
}

TEST_CASE("calls that cannot be are refused") {
  CHECK_FALSE(validate(call_of(operation::all_reduce), 4, 4));
  check_refused(call_of(operation::reduce_scatter, 13), errc::mismatch, "multiple");
  check_refused(call_of(operation::all_to_all, 13), errc::mismatch, "multiple");
  check_refused(call_of(operation::all_gather, 1ull << 59), errc::bad_input, "offset");
  check_refused(call_of(operation::all_gather, ~0ull), errc::bad_input, "offset");
  auto call = call_of(operation::barrier);
  call.count = 1;
  check_refused(call, errc::bad_input, "barrier");
  call = call_of(operation::broadcast);
  call.reduce = reduction::sum;
  check_refused(call, errc::bad_input, "takes no reduction");
  call = call_of(operation::all_reduce);
  call.reduce = reduction::band;
  check_refused(call, errc::bad_input, "no band of f32");
  call.reduce = reduction::none;
  check_refused(call, errc::bad_input, "no none of f32");
}

TEST_CASE("which reductions exist") {
  CHECK(exists(reduction::sum, element_type::boolean));
  CHECK(exists(reduction::avg, element_type::i32));
  CHECK(exists(reduction::bxor, element_type::u8));
  CHECK(exists(reduction::prod, element_type::c64));
  CHECK(exists(reduction::avg, element_type::c128));
  CHECK_FALSE(exists(reduction::avg, element_type::boolean));
  CHECK_FALSE(exists(reduction::min, element_type::c64));
  CHECK_FALSE(exists(reduction::bor, element_type::bf16));
  for (int type = 0; type < element_type_count; ++type)
    CHECK_FALSE(exists(reduction::none, static_cast<element_type>(type)));
}

TEST_CASE("calls describe themselves in one line") {
  CHECK(describe(call_of(operation::all_reduce, 1024)) == "all_reduce(sum, f32 × 1024)");
  CHECK(describe(call_of(operation::broadcast, 4)) == "broadcast(root 1, f32 × 4)");
  CHECK(describe(call_of(operation::send, 4)) == "send(to 1, tag 0, f32 × 4)");
  CHECK(describe(call_of(operation::recv, 4, any_source)) == "recv(from any, tag 0, f32 × 4)");
  CHECK(describe(call_of(operation::barrier)) == "barrier");
  auto split = call_of(operation::all_to_all, 1);
  split.send_counts = {1};
  CHECK(describe(split) == "all_to_all(f32 × 1, with splits)");
}

TEST_CASE("numbers outside the enums are unknown, not memory") {
  CHECK(std::string(to_string(static_cast<operation>(200))) == "unknown");
  CHECK(std::string(to_string(static_cast<element_type>(200))) == "unknown");
  CHECK(std::string(to_string(element_type::boolean)) == "boolean");
  CHECK(std::string(to_string(semantics::nccl)) == "nccl");
  CHECK(size_of(element_type::c128) == 16);
  CHECK(size_of(element_type::bf16) == 2);
}
