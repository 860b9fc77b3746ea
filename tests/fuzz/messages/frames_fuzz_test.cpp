// frames_fuzz_test: damaged frames and streams end in a value or a sentence, never in a crash or in
// much memory.
#include <catch2/catch.hpp>
#include <string>

#include "messages/wire_codec.hpp"
#include "tests/fuzz/messages/mutation.hpp"
#include "tests/unit/messages/sample_frames.hpp"

using namespace troupe;
using fuzz::bytes;

namespace {

/// A frame is far smaller than this here; decoded values may be some times larger than their bytes.
constexpr std::size_t allocation_max = 1u << 20;

template <class Frames>
std::vector<bytes> encoded(const Frames& frames) {
  std::vector<bytes> all;
  for (auto& frame : frames) all.push_back(encode(frame));
  return all;
}

/// Some frames of one direction, damaged, through its decoder; what decodes must encode again.
template <class Decode>
void damage_frames(const std::vector<bytes>& valid, Decode decode) {
  fuzz::mutator mutator;
  fuzz::time_limit time;
  INFO("TROUPE_FUZZ_SEED=" << mutator.seed);
  std::uint64_t tried = 0, believed = 0, silent = 0;
  fuzz::largest_allocation = 0;
  while (tried % 64 != 0 || !time.over()) {
    auto input = mutator.damaged(valid[mutator.below(valid.size())], valid);
    auto decoded = decode(input);
    if (decoded) {
      ++believed;
      // What was believed is a frame: it can be said again, and then means the same.
      auto again = encode(*decoded);
      auto back = decode(again);
      silent += !back || encode(*back) != again;
    } else {
      silent += decoded.error().code != errc::bad_input || decoded.error().context.empty();
    }
    ++tried;
  }
  CHECK(tried > 1000);
  CHECK(believed > 0);
  CHECK(believed < tried);
  CHECK(silent == 0);
  CHECK(fuzz::largest_allocation > 0);
  CHECK(fuzz::largest_allocation < allocation_max);
}

}  // namespace

TEST_CASE("damaged frames of a rank are believed or refused") {
  damage_frames(encoded(samples::to_troupe_frames()), decode_to_troupe);
}

TEST_CASE("damaged frames to a rank are believed or refused") {
  damage_frames(encoded(samples::to_rank_frames()), decode_to_rank);
}

TEST_CASE("damaged frames of the launcher's are believed or refused") {
  auto from = encoded(samples::from_launcher_frames());
  auto to = encoded(samples::to_launcher_frames());
  damage_frames(from, decode_from_launcher);
  damage_frames(to, decode_to_launcher);
}

TEST_CASE("a damaged stream is cut into frames or refused, and holds no more than a frame") {
  fuzz::mutator mutator;
  fuzz::time_limit time;
  INFO("TROUPE_FUZZ_SEED=" << mutator.seed);
  auto frames = encoded(samples::to_troupe_frames());
  bytes stream;
  for (auto& frame : frames) stream.insert(stream.end(), frame.begin(), frame.end());
  std::uint64_t tried = 0, refused = 0, bad = 0;
  fuzz::largest_allocation = 0;
  while (tried % 16 != 0 || !time.over()) {
    auto input = mutator.damaged(stream, {stream});
    frame_splitter splitter;
    std::size_t cut = 0;
    for (std::size_t at = 0; at < input.size();) {
      auto size = std::min<std::size_t>(1 + mutator.below(200), input.size() - at);
      splitter.feed(std::span(input).subspan(at, size));
      at += size;
      auto next = splitter.next();
      while (next && *next) {
        cut += (*next)->size();
        bad += (*next)->size() % 8 != 0 || (*next)->size() > frame_bytes_max;
        if (auto decoded = decode_to_troupe(**next); !decoded)
          bad += decoded.error().code != errc::bad_input;
        next = splitter.next();
      }
      if (!next) {
        bad += next.error().code != errc::bad_input;
        ++refused;
        break;
      }
    }
    bad += cut > input.size();
    ++tried;
  }
  CHECK(tried > 1000);
  CHECK(refused > 0);
  CHECK(bad == 0);
  CHECK(fuzz::largest_allocation > 0);
  CHECK(fuzz::largest_allocation < allocation_max);
}
