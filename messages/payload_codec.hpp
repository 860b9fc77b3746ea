// payload_codec: calls and payloads, which several frames hold; private to the codecs of messages/.
#pragma once

#include "messages/capnp_frame.hpp"
#include "messages/wire.capnp.h"

namespace troupe::capnp_frame {

inline void put(schema::Region::Builder to, const region& from) {
  to.setPool(from.pool);
  to.setOffset(from.offset);
  to.setHeader(from.header);
  to.setLength(from.length);
}

inline region read(schema::Region::Reader from, const char*& wrong) {
  region to{.pool = from.getPool(),
            .offset = from.getOffset(),
            .length = from.getLength(),
            .header = from.getHeader()};
  if (to.offset + to.length < to.offset) wrong = "a region ends beyond all memory";
  return to;
}

inline void put(schema::Payload::Builder to, const payload& from) {
  if (auto* bytes = std::get_if<inline_bytes>(&from))
    to.setInline(data(*bytes));
  else if (auto* where = std::get_if<region>(&from))
    put(to.initRegion(), *where);
  else
    to.setNone();
}

inline payload read(schema::Payload::Reader from, const char*& wrong) {
  switch (from.which()) {
    case schema::Payload::NONE:
      return {};
    case schema::Payload::INLINE:
      return data(from.getInline());
    case schema::Payload::REGION:
      return read(from.getRegion(), wrong);
  }
  wrong = "a payload of no known kind";
  return {};
}

/// Bytes that a payload adds to its frame, about.
inline std::size_t size_of(const payload& from) {
  auto* bytes = std::get_if<inline_bytes>(&from);
  return 48 + (bytes ? bytes->size() : 0);
}

inline void put(schema::Call::Builder to, const collective_call& from) {
  to.setOperation(static_cast<std::uint8_t>(from.op));
  to.setType(static_cast<std::uint8_t>(from.type));
  to.setReduction(static_cast<std::uint8_t>(from.reduce));
  to.setCount(from.count);
  to.setRoot(from.root);
  to.setTag(from.tag);
  auto same = [](std::uint64_t count) { return count; };
  put_numbers(
      from.send_counts, [&](unsigned n) { return to.initSendCounts(n); }, same);
  put_numbers(
      from.recv_counts, [&](unsigned n) { return to.initRecvCounts(n); }, same);
  to.setBatched(from.batched);
}

inline collective_call read(schema::Call::Reader from, const char*& wrong) {
  return {.op = checked<operation>(from.getOperation(), operation_count,
                                   "an operation of no known kind", wrong),
          .type = checked<element_type>(from.getType(), element_type_count,
                                        "elements of no known type", wrong),
          .reduce = checked<reduction>(from.getReduction(), reduction_count,
                                       "a reduction of no known kind", wrong),
          .count = from.getCount(),
          .root = from.getRoot(),
          .tag = from.getTag(),
          .send_counts = numbers<std::uint64_t>(from.getSendCounts(), wrong),
          .recv_counts = numbers<std::uint64_t>(from.getRecvCounts(), wrong),
          .batched = from.getBatched()};
}

/// errc and its text, as answers hold them.
template <class Reader>
error read_error(Reader from, const char*& wrong) {
  return {checked<errc>(from.getStatus(), errc_count, "a status of no known kind", wrong),
          text(from.getText(), wrong)};
}

template <class Builder>
void put_error(Builder to, const error& from) {
  to.setStatus(static_cast<std::uint8_t>(from.code));
  put_text(from.context, [&](unsigned n) { return to.initText(n); });
}

}  // namespace troupe::capnp_frame
