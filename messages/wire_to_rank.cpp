// wire_to_rank: the frames a rank gets, to bytes and back.
#include "messages/payload_codec.hpp"
#include "messages/wire_codec.hpp"

namespace troupe {

using namespace capnp_frame;

namespace {

/// Bytes that a frame takes, about, so that its message is one segment.
std::size_t size_of(const to_rank::frame& frame) {
  std::size_t size = 256;
  if (auto* welcome = std::get_if<to_rank::welcome>(&frame)) size += 8 * welcome->pool_sizes.size();
  if (auto* refused = std::get_if<to_rank::refused>(&frame)) size += refused->text.size();
  if (auto* leased = std::get_if<to_rank::leased>(&frame)) size += leased->why.context.size();
  if (auto* stored = std::get_if<to_rank::stored>(&frame))
    size += stored->why.context.size() + stored->reply.value.size();
  if (auto* completed = std::get_if<to_rank::completed>(&frame)) {
    size += completed->why.context.size();
    for (auto& piece : completed->pieces) size += capnp_frame::size_of(piece);
  }
  return size;
}

/// Lays each kind of frame into the root.
struct layer {
  schema::ToRank::Builder root;

  void operator()(const to_rank::welcome& from) {
    auto to = root.initWelcome();
    to.setWorld(from.world);
    to.setSlots(from.slots);
    put_numbers(
        from.pool_sizes, [&](unsigned n) { return to.initPoolSizes(n); },
        [](std::uint64_t size) { return size; });
    to.setRankPageOffset(from.rank_page_offset);
    to.setInlineLimit(from.inline_limit);
    to.setStartNs(from.start_ns);
  }
  void operator()(const to_rank::refused& from) {
    auto to = root.initRefused();
    put_text(from.text, [&](unsigned n) { return to.initText(n); });
  }
  void operator()(const to_rank::granted&) { root.setGranted(); }
  void operator()(const to_rank::completed& from) {
    TROUPE_ASSERT(from.pieces.size() <= list_length_max, from.pieces.size());
    auto to = root.initCompleted();
    to.setOperationId(from.operation.value);
    put_error(to, from.why);
    auto pieces = to.initPieces(static_cast<unsigned>(from.pieces.size()));
    for (unsigned i = 0; i < from.pieces.size(); ++i) put(pieces[i], from.pieces[i]);
    to.setSource(from.source);
  }
  void operator()(const to_rank::leased& from) {
    auto to = root.initLeased();
    to.setOperationId(from.operation.value);
    put_error(to, from.why);
    put(to.initRegion(), from.region);
  }
  void operator()(const to_rank::stored& from) {
    auto to = root.initStored();
    to.setOperationId(from.operation.value);
    put_error(to, from.why);
    if (!from.reply.value.empty()) to.setValue(data(from.reply.value));
    to.setNumber(from.reply.number);
  }
};

to_rank::completed read_completed(schema::ToRank::Completed::Reader from, const char*& wrong) {
  to_rank::completed to{.operation = {from.getOperationId()},
                        .why = read_error(from, wrong),
                        .pieces = {},
                        .source = from.getSource()};
  auto pieces = from.getPieces();
  if (pieces.size() > list_length_max) wrong = "a list is too long";
  if (wrong) return to;
  to.pieces.reserve(pieces.size());
  for (auto piece : pieces) to.pieces.push_back(read(piece, wrong));
  return to;
}

to_rank::frame read_frame(schema::ToRank::Reader root, const char*& wrong) {
  using namespace to_rank;
  switch (root.which()) {
    case schema::ToRank::WELCOME: {
      auto from = root.getWelcome();
      return welcome{.world = from.getWorld(),
                     .slots = from.getSlots(),
                     .pool_sizes = numbers<std::uint64_t>(from.getPoolSizes(), wrong),
                     .rank_page_offset = from.getRankPageOffset(),
                     .inline_limit = from.getInlineLimit(),
                     .start_ns = from.getStartNs()};
    }
    case schema::ToRank::REFUSED:
      return refused{text(root.getRefused().getText(), wrong)};
    case schema::ToRank::GRANTED:
      return granted{};
    case schema::ToRank::COMPLETED:
      return read_completed(root.getCompleted(), wrong);
    case schema::ToRank::LEASED: {
      auto from = root.getLeased();
      return leased{
          {from.getOperationId()}, read_error(from, wrong), read(from.getRegion(), wrong)};
    }
    case schema::ToRank::STORED: {
      auto from = root.getStored();
      return stored{{from.getOperationId()},
                    read_error(from, wrong),
                    {data(from.getValue()), from.getNumber()}};
    }
  }
  wrong = "a frame of no known kind";
  return granted{};
}

}  // namespace

std::vector<std::uint8_t> encode(const to_rank::frame& frame) {
  return encode<schema::ToRank>(
      size_of(frame), [&](schema::ToRank::Builder root) { std::visit(layer{root}, frame); });
}

result<to_rank::frame> decode_to_rank(std::span<const std::uint8_t> bytes) {
  return decode<schema::ToRank, to_rank::frame>(bytes, read_frame);
}

}  // namespace troupe
