// capnp_frame: one Cap'n Proto message as one frame of bytes; private to the codecs of messages/.
//
// kj exceptions end here. The machine is little-endian, as Cap'n Proto is.
// Not here: what a frame says (wire_to_troupe.cpp, wire_to_rank.cpp, control_codec.cpp); its length
// (wire_codec.cpp).
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "messages/assert.hpp"
#include "messages/error.hpp"
#include "messages/wire_codec.hpp"

namespace troupe::capnp_frame {

/// Appends what Cap'n Proto writes.
class byte_stream final : public kj::OutputStream {
 public:
  explicit byte_stream(std::vector<std::uint8_t>& to) : to_(to) {}
  void write(const void* from, std::size_t size) override {
    auto* first = static_cast<const std::uint8_t*>(from);
    to_.insert(to_.end(), first, first + size);
  }

 private:
  std::vector<std::uint8_t>& to_;
};

/// The frame of a message of about `size` bytes that `fill` lays out. Small ones never touch the
/// heap but for the result.
template <class Root, class Fill>
std::vector<std::uint8_t> encode(std::size_t size, Fill&& fill) {
  constexpr std::size_t scratch_words = 128;
  std::vector<std::uint8_t> frame;
  auto write = [&](capnp::MessageBuilder& message) {
    fill(message.initRoot<Root>());
    frame.reserve(capnp::computeSerializedSizeInWords(message) * sizeof(capnp::word));
    byte_stream stream(frame);
    capnp::writeMessage(stream, message);
  };
  std::string failed;
  try {
    if (size <= scratch_words * sizeof(capnp::word)) {
      capnp::word scratch[scratch_words];
      std::memset(scratch, 0, sizeof(scratch));
      capnp::MallocMessageBuilder message(kj::arrayPtr(scratch, scratch_words));
      write(message);
    } else {
      capnp::MallocMessageBuilder message(static_cast<unsigned>(size / sizeof(capnp::word) + 1));
      write(message);
    }
  } catch (const kj::Exception& thrown) {
    failed = thrown.getDescription().cStr();
  }
  TROUPE_ASSERT(failed.empty() && frame.size() <= frame_bytes_max, failed, frame.size());
  return frame;
}

/// What `read` makes of the one frame in `bytes`. `read(root, wrong)` sets `wrong` to a sentence to
/// refuse.
template <class Root, class Value, class Read>
result<Value> decode(std::span<const std::uint8_t> bytes, Read&& read) {
  auto length = frame_length(bytes);
  if (!length) return length.error();
  if (!*length || **length != bytes.size())
    return error{errc::bad_input, "a frame's length is not what it says"};
  std::vector<capnp::word> aligned;
  auto* first = reinterpret_cast<const capnp::word*>(bytes.data());
  auto words = bytes.size() / sizeof(capnp::word);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(capnp::word) != 0) {
    aligned.resize(words);
    std::memcpy(static_cast<void*>(aligned.data()), bytes.data(), bytes.size());
    first = aligned.data();
  }
  // Each object is read about once: a frame whose pointers alias cannot grow beyond twice its size.
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 2 * words + 64;
  options.nestingLimit = 8;
  try {
    capnp::FlatArrayMessageReader message(kj::arrayPtr(first, words), options);
    const char* wrong = nullptr;
    Value value = read(message.getRoot<Root>(), wrong);
    if (wrong) return error{errc::bad_input, std::string("a frame cannot be believed: ") + wrong};
    return value;
  } catch (const kj::Exception& thrown) {
    return error{errc::bad_input,
                 std::string("a frame cannot be believed: ") + thrown.getDescription().cStr()};
  }
}

/// An enum's number as an enum, if there is one.
template <class Enum>
Enum checked(unsigned number, unsigned count, const char* complaint, const char*& wrong) {
  if (number < count) return static_cast<Enum>(number);
  wrong = complaint;
  return {};
}

inline constexpr unsigned errc_count = 1
#define TROUPE_ERRC(name, status, text) +1
#include "messages/errc.def"
#undef TROUPE_ERRC
    ;

/// A text laid by `init(size)`, cut (between characters) to what a frame may hold.
template <class Init>
void put_text(const std::string& from, Init&& init) {
  std::size_t size = from.size();
  if (size > text_bytes_max) {
    size = text_bytes_max;
    while (size > 0 && (static_cast<unsigned char>(from[size]) & 0xc0) == 0x80) --size;
  }
  if (size == 0) return;
  capnp::Text::Builder to = init(static_cast<unsigned>(size));
  std::memcpy(to.begin(), from.data(), size);
}

inline capnp::Data::Reader data(const std::vector<std::uint8_t>& from) {
  return {from.data(), from.size()};
}

/// Numbers laid by `init(size)`, each as `number(element)`.
template <class Element, class Init, class Number>
void put_numbers(const std::vector<Element>& from, Init&& init, Number&& number) {
  TROUPE_ASSERT(from.size() <= list_length_max, from.size());
  if (from.empty()) return;
  auto to = init(static_cast<unsigned>(from.size()));
  for (unsigned i = 0; i < from.size(); ++i) to.set(i, number(from[i]));
}

inline std::string text(capnp::Text::Reader from, const char*& wrong) {
  if (from.size() <= text_bytes_max) return {from.begin(), from.size()};
  wrong = "a text is too long";
  return {};
}

inline std::vector<std::uint8_t> data(capnp::Data::Reader from) {
  return {from.begin(), from.end()};
}

/// A list of numbers, each as a To (which is made of one number).
template <class To, class List>
std::vector<To> numbers(List from, const char*& wrong) {
  std::vector<To> to;
  if (from.size() > list_length_max) {
    wrong = "a list is too long";
    return to;
  }
  to.reserve(from.size());
  for (auto number : from) to.push_back(To{number});
  return to;
}

}  // namespace troupe::capnp_frame
