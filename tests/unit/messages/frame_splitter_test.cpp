// frame_splitter_test: however a stream is cut, the same frames come out; a hostile length is
// refused before it costs memory.
#include <capnp/serialize.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "messages/wire_codec.hpp"
#include "tests/unit/messages/sample_frames.hpp"

using namespace troupe;
using bytes_of = std::vector<std::uint8_t>;

TEST_CASE("frames come out whole whatever pieces a stream comes in") {
  std::vector<bytes_of> frames;
  bytes_of stream;
  for (auto& frame : samples::to_troupe_frames()) {
    frames.push_back(encode(frame));
    stream.insert(stream.end(), frames.back().begin(), frames.back().end());
  }
  std::mt19937 random(1);
  for (std::size_t piece_max : {1, 3, 8, 100, 5000}) {
    frame_splitter splitter;
    std::vector<bytes_of> got;
    for (std::size_t at = 0; at < stream.size();) {
      auto size = std::min(stream.size() - at, 1 + random() % piece_max);
      splitter.feed(std::span(stream).subspan(at, size));
      at += size;
      for (;;) {
        auto next = splitter.next();
        REQUIRE(next);
        if (!*next) break;
        CHECK(reinterpret_cast<std::uintptr_t>((*next)->data()) % 8 == 0);
        got.emplace_back((*next)->begin(), (*next)->end());
      }
    }
    CHECK(got == frames);
  }
}

TEST_CASE("the length is known once the table of segments is there, and is Cap'n Proto's") {
  for (std::uint32_t segments : {1u, 2u, 3u, 4u}) {
    bytes_of table(16 + segments * 8);
    std::uint32_t more = segments - 1;
    std::memcpy(table.data(), &more, 4);
    for (std::uint32_t i = 0; i < segments; ++i) {
      std::uint32_t words = 10 + i;
      std::memcpy(table.data() + 4 + 4 * i, &words, 4);
    }
    for (std::size_t size = 0; size < 4 + 4 * segments; ++size) {
      auto length = frame_length(std::span(table).first(size));
      REQUIRE(length);
      CHECK_FALSE(*length);
    }
    auto length = frame_length(table);
    REQUIRE(length);
    std::vector<capnp::word> words(table.size() / 8);
    std::memcpy(static_cast<void*>(words.data()), table.data(), words.size() * 8);
    CHECK(**length
          == 8 * capnp::expectedSizeInWordsFromPrefix(kj::arrayPtr(words.data(), words.size())));
  }
}

TEST_CASE("a length or number of segments beyond the limit is refused, and stays refused") {
  bytes_of huge{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
  bytes_of crowded{0xff, 0xff, 0xff, 0xff};
  for (auto& bytes : {huge, crowded}) {
    auto length = frame_length(bytes);
    REQUIRE_FALSE(length);
    CHECK(length.error().code == errc::bad_input);
    frame_splitter splitter;
    splitter.feed(bytes);
    CHECK_FALSE(splitter.next());
    splitter.feed(bytes);
    CHECK_FALSE(splitter.next());
  }
}
