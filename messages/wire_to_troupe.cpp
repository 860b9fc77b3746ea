// wire_to_troupe: the frames a rank sends, to bytes and back.
#include <functional>

#include "messages/payload_codec.hpp"
#include "messages/wire_codec.hpp"

namespace troupe {

using namespace capnp_frame;

namespace {

constexpr unsigned semantics_count = 3, release_reason_count = 6, store_kind_count = 13;
static_assert(static_cast<unsigned>(store_kind::queue_length) + 1 == store_kind_count);
static_assert(static_cast<unsigned>(release_reason::ended) + 1 == release_reason_count);
static_assert(static_cast<unsigned>(semantics::mpi) + 1 == semantics_count);
static_assert(static_cast<unsigned>(schema::StoreRequest::Kind::QUEUE_LENGTH) + 1
              == store_kind_count);

std::uint64_t value_of(operation_id id) { return id.value; }

/// Bytes that a frame takes, about, so that its message is one segment.
std::size_t size_of(const to_troupe::frame& frame) {
  std::size_t size = 256;
  if (auto* issue = std::get_if<to_troupe::issue>(&frame))
    size += capnp_frame::size_of(issue->payload)
            + 8 * (issue->call.send_counts.size() + issue->call.recv_counts.size());
  if (auto* opened = std::get_if<to_troupe::open_communicator>(&frame))
    size += 4 * opened->members.size() + opened->name.size();
  if (auto* site = std::get_if<to_troupe::call_site>(&frame)) size += site->text.size();
  if (auto* blocked = std::get_if<to_troupe::blocked>(&frame))
    size += 8 * blocked->operations.size() + 4 * blocked->threads.size();
  if (auto* awaited = std::get_if<to_troupe::awaited>(&frame))
    size += 8 * awaited->operations.size();
  if (auto* store = std::get_if<to_troupe::store>(&frame)) {
    size += store->request.value.size() + store->request.expected.size();
    for (auto& key : store->request.keys) size += 16 + key.size();
  }
  return size;
}

void put_request(schema::StoreRequest::Builder to, const store_request& from) {
  TROUPE_ASSERT(from.keys.size() <= list_length_max, from.keys.size());
  to.setKind(static_cast<schema::StoreRequest::Kind>(from.kind));
  auto keys = to.initKeys(static_cast<unsigned>(from.keys.size()));
  for (unsigned i = 0; i < from.keys.size(); ++i) {
    TROUPE_ASSERT(from.keys[i].size() <= key_bytes_max, from.keys[i].size());
    keys.set(i, capnp::Text::Reader(from.keys[i].c_str(), from.keys[i].size()));
  }
  if (!from.value.empty()) to.setValue(data(from.value));
  if (!from.expected.empty()) to.setExpected(data(from.expected));
  to.setAmount(from.amount);
  to.setTimeoutNs(from.timeout_ns);
}

store_request read_request(schema::StoreRequest::Reader from, const char*& wrong) {
  store_request to;
  to.kind = checked<store_kind>(static_cast<unsigned>(from.getKind()), store_kind_count,
                                "a store request of no known kind", wrong);
  auto keys = from.getKeys();
  if (keys.size() > list_length_max) wrong = "a list is too long";
  if (wrong) return to;
  to.keys.reserve(keys.size());
  for (auto key : keys) {
    if (key.size() > key_bytes_max) wrong = "a key is too long";
    if (wrong) return to;
    to.keys.emplace_back(key.begin(), key.size());
  }
  to.value = data(from.getValue());
  to.expected = data(from.getExpected());
  to.amount = from.getAmount();
  to.timeout_ns = from.getTimeoutNs();
  return to;
}

template <class Builder>
void put_companion(Builder& to, companion_number companion) {
  TROUPE_ASSERT(companion <= companions_max, companion);
  to.setCompanion(static_cast<std::uint16_t>(companion));
}

/// Lays each kind of frame into the root.
struct layer {
  schema::ToTroupe::Builder root;

  void operator()(const to_troupe::hello& from) {
    auto to = root.initHello();
    to.setVersion(from.version);
    to.setRank(from.rank.value);
    to.setPid(from.pid);
  }
  void operator()(const to_troupe::take_slot&) { root.setTakeSlot(); }
  void operator()(const to_troupe::open_communicator& from) {
    auto to = root.initOpenCommunicator();
    to.setCommunicator(from.communicator.value);
    put_numbers(
        from.members, [&](unsigned n) { return to.initMembers(n); },
        [](rank_id id) { return id.value; });
    to.setOrdinal(from.ordinal);
    to.setSemantics(static_cast<std::uint8_t>(from.rules));
    put_text(from.name, [&](unsigned n) { return to.initName(n); });
    put_companion(to, from.companion);
  }
  void operator()(const to_troupe::call_site& from) {
    auto to = root.initCallSite();
    to.setId(from.id.value);
    put_text(from.text, [&](unsigned n) { return to.initText(n); });
  }
  void operator()(const to_troupe::issue& from) {
    auto to = root.initIssue();
    to.setOperationId(from.operation.value);
    to.setCommunicator(from.communicator.value);
    to.setSequence(from.sequence.value);
    put(to.initCall(), from.call);
    put(to.initPayload(), from.payload);
    to.setCallSite(from.site.value);
    to.setAsFuture(from.as_future);
    to.setAtNs(from.at_ns);
  }
  void operator()(const to_troupe::blocked& from) {
    auto to = root.initBlocked();
    to.setReason(static_cast<std::uint8_t>(from.reason));
    put_numbers(
        from.operations, [&](unsigned n) { return to.initOperations(n); }, value_of);
    to.setAtNs(from.at_ns);
    put_numbers(
        from.threads, [&](unsigned n) { return to.initThreads(n); }, std::identity{});
    to.setTakesSignals(from.takes_signals);
  }
  void operator()(const to_troupe::awaited& from) {
    auto to = root.initAwaited();
    put_numbers(
        from.operations, [&](unsigned n) { return to.initOperations(n); }, value_of);
    to.setAtNs(from.at_ns);
  }
  void operator()(const to_troupe::yielded& from) { root.initYielded().setAtNs(from.at_ns); }
  void operator()(const to_troupe::lease& from) {
    auto to = root.initLease();
    to.setOperationId(from.operation.value);
    to.setSize(from.size);
  }
  void operator()(const to_troupe::store& from) {
    auto to = root.initStore();
    to.setOperationId(from.operation.value);
    put_request(to.initRequest(), from.request);
  }
  void operator()(const to_troupe::copied& from) {
    auto to = root.initCopied();
    to.setSize(from.size);
    to.setDurationNs(from.duration_ns);
    to.setAtNs(from.at_ns);
  }
  void operator()(const to_troupe::mark& from) {
    auto to = root.initMark();
    to.setKind(from.kind);
    to.setAtNs(from.at_ns);
  }
  void operator()(const to_troupe::future_taken& from) {
    root.initFutureTaken().setOperationId(from.operation.value);
  }
  void operator()(const to_troupe::leave&) { root.setLeave(); }
  void operator()(const to_troupe::abort_communicator& from) {
    auto to = root.initAbortCommunicator();
    to.setCommunicator(from.communicator.value);
    put_companion(to, from.companion);
  }
};

template <class Reader>
companion_number read_companion(Reader from, const char*& wrong) {
  if (from.getCompanion() > companions_max) wrong = "a companion of too high a number";
  return from.getCompanion();
}

to_troupe::issue read_issue(schema::ToTroupe::Issue::Reader from, const char*& wrong) {
  return {.operation = {from.getOperationId()},
          .communicator = {from.getCommunicator()},
          .sequence = {from.getSequence()},
          .call = read(from.getCall(), wrong),
          .payload = read(from.getPayload(), wrong),
          .site = {from.getCallSite()},
          .as_future = from.getAsFuture(),
          .at_ns = from.getAtNs()};
}

to_troupe::open_communicator read_opened(schema::ToTroupe::OpenCommunicator::Reader from,
                                         const char*& wrong) {
  return {.communicator = {from.getCommunicator()},
          .members = numbers<rank_id>(from.getMembers(), wrong),
          .ordinal = from.getOrdinal(),
          .rules = checked<semantics>(from.getSemantics(), semantics_count,
                                      "semantics of no known kind", wrong),
          .name = text(from.getName(), wrong),
          .companion = read_companion(from, wrong)};
}

to_troupe::frame read_frame(schema::ToTroupe::Reader root, const char*& wrong) {
  using namespace to_troupe;
  switch (root.which()) {
    case schema::ToTroupe::HELLO: {
      auto from = root.getHello();
      return hello{from.getVersion(), {from.getRank()}, from.getPid()};
    }
    case schema::ToTroupe::TAKE_SLOT:
      return take_slot{};
    case schema::ToTroupe::OPEN_COMMUNICATOR:
      return read_opened(root.getOpenCommunicator(), wrong);
    case schema::ToTroupe::CALL_SITE: {
      auto from = root.getCallSite();
      return call_site{{from.getId()}, text(from.getText(), wrong)};
    }
    case schema::ToTroupe::ISSUE:
      return read_issue(root.getIssue(), wrong);
    case schema::ToTroupe::BLOCKED: {
      auto from = root.getBlocked();
      return blocked{checked<release_reason>(from.getReason(), release_reason_count,
                                             "a reason of no known kind", wrong),
                     numbers<operation_id>(from.getOperations(), wrong), from.getAtNs(),
                     numbers<std::int32_t>(from.getThreads(), wrong), from.getTakesSignals()};
    }
    case schema::ToTroupe::AWAITED: {
      auto from = root.getAwaited();
      return awaited{numbers<operation_id>(from.getOperations(), wrong), from.getAtNs()};
    }
    case schema::ToTroupe::YIELDED:
      return yielded{root.getYielded().getAtNs()};
    case schema::ToTroupe::LEASE: {
      auto from = root.getLease();
      return lease{{from.getOperationId()}, from.getSize()};
    }
    case schema::ToTroupe::STORE: {
      auto from = root.getStore();
      return store{{from.getOperationId()}, read_request(from.getRequest(), wrong)};
    }
    case schema::ToTroupe::COPIED: {
      auto from = root.getCopied();
      return copied{from.getSize(), from.getDurationNs(), from.getAtNs()};
    }
    case schema::ToTroupe::MARK: {
      auto from = root.getMark();
      return mark{from.getKind(), from.getAtNs()};
    }
    case schema::ToTroupe::FUTURE_TAKEN:
      return future_taken{{root.getFutureTaken().getOperationId()}};
    case schema::ToTroupe::LEAVE:
      return leave{};
    case schema::ToTroupe::ABORT_COMMUNICATOR: {
      auto from = root.getAbortCommunicator();
      return abort_communicator{{from.getCommunicator()}, read_companion(from, wrong)};
    }
  }
  wrong = "a frame of no known kind";
  return leave{};
}

}  // namespace

std::vector<std::uint8_t> encode(const to_troupe::frame& frame) {
  return encode<schema::ToTroupe>(
      size_of(frame), [&](schema::ToTroupe::Builder root) { std::visit(layer{root}, frame); });
}

result<to_troupe::frame> decode_to_troupe(std::span<const std::uint8_t> bytes) {
  return decode<schema::ToTroupe, to_troupe::frame>(bytes, read_frame);
}

}  // namespace troupe
