// wire_codec_test: frames keep every field, and what cannot be believed is refused with a sentence.
#include "messages/wire_codec.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>

#include "messages/control.capnp.h"
#include "messages/wire.capnp.h"
#include "tests/unit/messages/sample_frames.hpp"

using namespace troupe;

namespace {

/// Bytes say everything (the encoder is deterministic), so equal bytes are equal frames.
template <class Frames, class Decode>
void check_round_trip(const Frames& frames, Decode decode) {
  for (auto& frame : frames) {
    INFO("alternative " << frame.index());
    auto bytes = encode(frame);
    REQUIRE(bytes.size() % 8 == 0);
    auto back = decode(bytes);
    REQUIRE(back);
    CHECK(back->index() == frame.index());
    CHECK(encode(*back) == bytes);
    std::vector<std::uint8_t> shifted(bytes.size() + 1);
    std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
    auto unaligned = decode(std::span(shifted).subspan(1));
    REQUIRE(unaligned);
    CHECK(encode(*unaligned) == bytes);
  }
}

/// A frame made by hand: `fill` lays out what no encoder of ours would.
template <class Root, class Fill>
std::vector<std::uint8_t> forge(Fill fill) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Root>());
  auto words = capnp::messageToFlatArray(message);
  auto bytes = words.asBytes();
  return {bytes.begin(), bytes.end()};
}

void check_refused(const result<to_troupe::frame>& decoded, const std::string& why) {
  REQUIRE_FALSE(decoded);
  CHECK(decoded.error().code == errc::bad_input);
  CHECK(decoded.error().context.find(why) != std::string::npos);
}

}  // namespace

TEST_CASE("every frame a rank sends comes back as it was") {
  check_round_trip(samples::to_troupe_frames(), decode_to_troupe);
  std::vector<bool> seen(std::variant_size_v<to_troupe::frame>);
  for (auto& frame : samples::to_troupe_frames()) seen[frame.index()] = true;
  CHECK(seen == std::vector<bool>(seen.size(), true));
}

TEST_CASE("every frame a rank gets comes back as it was") {
  check_round_trip(samples::to_rank_frames(), decode_to_rank);
  std::vector<bool> seen(std::variant_size_v<to_rank::frame>);
  for (auto& frame : samples::to_rank_frames()) seen[frame.index()] = true;
  CHECK(seen == std::vector<bool>(seen.size(), true));
}

TEST_CASE("every frame of the launcher's comes back as it was") {
  check_round_trip(samples::from_launcher_frames(), decode_from_launcher);
  check_round_trip(samples::to_launcher_frames(), decode_to_launcher);
}

TEST_CASE("fields arrive in their own places") {
  auto decoded = decode_to_troupe(encode(samples::to_troupe_frames()[5]));
  REQUIRE(decoded);
  auto& issue = std::get<to_troupe::issue>(*decoded);
  CHECK(issue.operation.value == 1);
  CHECK(issue.communicator.value == 2);
  CHECK(issue.sequence.value == 3);
  CHECK(issue.call.op == operation::all_to_all);
  CHECK(issue.call.type == element_type::bf16);
  CHECK(issue.call.count == 6);
  CHECK(issue.call.send_counts == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(issue.call.recv_counts == std::vector<std::uint64_t>{4, 0, 5});
  CHECK(std::get<inline_bytes>(issue.payload) == inline_bytes{1, 2, 3, 255});
  CHECK(issue.site.value == 5);
  CHECK(issue.as_future);
  CHECK(issue.at_ns == ~0ull);

  auto store = std::get<to_troupe::store>(
      *decode_to_troupe(encode(to_troupe::frame{samples::to_troupe_frames()[12]})));
  CHECK(store.request.kind == store_kind::compare_set);
  CHECK(store.request.keys == std::vector<std::string>{"a", "", "ключ"});
  CHECK(store.request.value == std::vector<std::uint8_t>{0, 1});
  CHECK(store.request.expected == std::vector<std::uint8_t>{2});
  CHECK(store.request.amount == -3);

  auto completed =
      std::get<to_rank::completed>(*decode_to_rank(encode(samples::to_rank_frames()[4])));
  CHECK(completed.why.code == errc::lost_rank);
  CHECK(completed.why.context == "rank 5 is gone");
  REQUIRE(completed.pieces.size() == 3);
  CHECK(std::holds_alternative<std::monostate>(completed.pieces[0]));
  CHECK(std::get<inline_bytes>(completed.pieces[1]) == inline_bytes{9, 8});
  CHECK(std::get<region>(completed.pieces[2])
        == region{.pool = 0, .offset = 128, .length = 64, .header = 0});
  CHECK(completed.source == 5);

  auto ended = std::get<from_launcher::ended>(
      *decode_from_launcher(encode(samples::from_launcher_frames()[1])));
  CHECK(ended.wait_status == 0x8b);
  CHECK(ended.cpu_ns == 55);
  CHECK(ended.peak_bytes == 66);
}

TEST_CASE("the schema's version is the frames' version") {
  CHECK(schema::WIRE_VERSION == wire_version);
}

TEST_CASE("a number that names nothing is refused") {
  check_refused(decode_to_troupe(forge<schema::ToTroupe>(
                    [](auto root) { root.initIssue().initCall().setOperation(operation_count); })),
                "operation");
  check_refused(decode_to_troupe(forge<schema::ToTroupe>(
                    [](auto root) { root.initIssue().initCall().setType(element_type_count); })),
                "type");
  check_refused(decode_to_troupe(forge<schema::ToTroupe>(
                    [](auto root) { root.initIssue().initCall().setReduction(reduction_count); })),
                "reduction");
  check_refused(decode_to_troupe(forge<schema::ToTroupe>(
                    [](auto root) { root.initOpenCommunicator().setSemantics(3); })),
                "semantics");
  check_refused(
      decode_to_troupe(forge<schema::ToTroupe>([](auto root) { root.initBlocked().setReason(6); })),
      "reason");
  check_refused(
      decode_to_troupe(forge<schema::ToTroupe>([](auto root) {
        root.initStore().initRequest().setKind(static_cast<schema::StoreRequest::Kind>(13));
      })),
      "store request");
  CHECK_FALSE(decode_to_rank(
      forge<schema::ToRank>([](auto root) { root.initCompleted().setStatus(200); })));
  CHECK_FALSE(decode_from_launcher(
      forge<schema::FromLauncher>([](auto root) { root.initFailed().setStatus(200); })));
}

TEST_CASE("texts, keys, lists and regions beyond their limits are refused") {
  std::string long_text(text_bytes_max + 1, 'x'), long_key(key_bytes_max + 1, 'k');
  check_refused(decode_to_troupe(forge<schema::ToTroupe>(
                    [&](auto root) { root.initCallSite().setText(long_text.c_str()); })),
                "text is too long");
  check_refused(decode_to_troupe(forge<schema::ToTroupe>([&](auto root) {
                  root.initStore().initRequest().initKeys(1).set(0, long_key.c_str());
                })),
                "key is too long");
  check_refused(decode_to_troupe(forge<schema::ToTroupe>([](auto root) {
                  root.initOpenCommunicator().initMembers(list_length_max + 1);
                })),
                "list is too long");
  check_refused(decode_to_troupe(forge<schema::ToTroupe>([](auto root) {
                  auto where = root.initIssue().initPayload().initRegion();
                  where.setOffset(~0ull);
                  where.setLength(2);
                })),
                "region");
}

TEST_CASE("a long diagnosis is cut between characters when it is encoded") {
  std::string text(text_bytes_max - 1, 'x');
  text += "é and more";
  auto decoded = decode_to_rank(encode(to_rank::frame{to_rank::refused{text}}));
  REQUIRE(decoded);
  CHECK(std::get<to_rank::refused>(*decoded).text == std::string(text_bytes_max - 1, 'x'));
}

TEST_CASE("a frame of another kind than all we know is refused") {
  auto bytes = encode(to_troupe::frame{to_troupe::leave{}});
  bool refused = false;
  for (std::size_t i = 16; i < bytes.size(); ++i) {
    auto forged = bytes;
    forged[i] = 0xee;
    auto decoded = decode_to_troupe(forged);
    refused |= !decoded && decoded.error().context.find("no known kind") != std::string::npos;
  }
  CHECK(refused);
}

TEST_CASE("bytes that are not exactly one frame are refused") {
  auto bytes = encode(to_troupe::frame{to_troupe::hello{1, {2}, 3}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    auto decoded = decode_to_troupe(std::span(bytes).first(size));
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == errc::bad_input);
  }
  auto longer = bytes;
  longer.resize(bytes.size() + 8);
  CHECK_FALSE(decode_to_troupe(longer));
}

TEST_CASE("a payload as large as a frame may be passes") {
  to_troupe::issue issue;
  issue.payload = inline_bytes(frame_bytes_max - 4096, 0xa5);
  auto bytes = encode(to_troupe::frame{issue});
  CHECK(bytes.size() <= frame_bytes_max);
  auto decoded = decode_to_troupe(bytes);
  REQUIRE(decoded);
  CHECK(std::get<to_troupe::issue>(*decoded).payload == issue.payload);
}

TEST_CASE("frames of wire version 2 are the golden file's, byte for byte") {
  REQUIRE(wire_version == 2);
  std::ifstream file(TROUPE_GOLDEN_FOLDER "/wire_2.frames", std::ios::binary);
  std::vector<std::uint8_t> golden(std::istreambuf_iterator<char>(file), {}), now;
  auto append = [&](const auto& frames) {
    for (auto& frame : frames) {
      auto bytes = encode(frame);
      now.insert(now.end(), bytes.begin(), bytes.end());
    }
  };
  append(samples::to_troupe_frames());
  append(samples::to_rank_frames());
  append(samples::from_launcher_frames());
  append(samples::to_launcher_frames());
  CHECK(golden.size() == now.size());
  CHECK(golden == now);
}
