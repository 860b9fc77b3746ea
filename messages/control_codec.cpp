// control_codec: the frames between `troupe` and the launcher, to bytes and back.
#include "messages/capnp_frame.hpp"
#include "messages/control.capnp.h"
#include "messages/wire_codec.hpp"

namespace troupe {

using namespace capnp_frame;

namespace {

/// Lays each kind of frame into the root.
struct from_launcher_layer {
  schema::FromLauncher::Builder root;

  void operator()(const from_launcher::started& from) {
    auto to = root.initStarted();
    to.setRank(from.rank.value);
    to.setPid(from.pid);
  }
  void operator()(const from_launcher::ended& from) {
    auto to = root.initEnded();
    to.setRank(from.rank.value);
    to.setPid(from.pid);
    to.setWaitStatus(from.wait_status);
    to.setCpuNs(from.cpu_ns);
    to.setPeakBytes(from.peak_bytes);
  }
  void operator()(const from_launcher::failed& from) {
    auto to = root.initFailed();
    to.setStatus(static_cast<std::uint8_t>(from.why.code));
    put_text(from.why.context, [&](unsigned n) { return to.initText(n); });
  }
};

from_launcher::frame read_from_launcher(schema::FromLauncher::Reader root, const char*& wrong) {
  using namespace from_launcher;
  switch (root.which()) {
    case schema::FromLauncher::STARTED: {
      auto from = root.getStarted();
      return started{{from.getRank()}, from.getPid()};
    }
    case schema::FromLauncher::ENDED: {
      auto from = root.getEnded();
      return ended{.rank = {from.getRank()},
                   .pid = from.getPid(),
                   .wait_status = from.getWaitStatus(),
                   .cpu_ns = from.getCpuNs(),
                   .peak_bytes = from.getPeakBytes()};
    }
    case schema::FromLauncher::FAILED: {
      auto from = root.getFailed();
      auto code = checked<errc>(from.getStatus(), errc_count, "a status of no known kind", wrong);
      return failed{{code, text(from.getText(), wrong)}};
    }
  }
  wrong = "a frame of no known kind";
  return failed{};
}

to_launcher::frame read_to_launcher(schema::ToLauncher::Reader root, const char*& wrong) {
  switch (root.which()) {
    case schema::ToLauncher::SIGNAL:
      return to_launcher::signal{root.getSignal().getNumber()};
    case schema::ToLauncher::END:
      return to_launcher::end{};
  }
  wrong = "a frame of no known kind";
  return to_launcher::end{};
}

}  // namespace

std::vector<std::uint8_t> encode(const from_launcher::frame& frame) {
  auto* failed = std::get_if<from_launcher::failed>(&frame);
  return encode<schema::FromLauncher>(
      128 + (failed ? failed->why.context.size() : 0),
      [&](schema::FromLauncher::Builder root) { std::visit(from_launcher_layer{root}, frame); });
}

std::vector<std::uint8_t> encode(const to_launcher::frame& frame) {
  return encode<schema::ToLauncher>(128, [&](schema::ToLauncher::Builder root) {
    if (auto* signal = std::get_if<to_launcher::signal>(&frame))
      root.initSignal().setNumber(signal->number);
    else
      root.setEnd();
  });
}

result<from_launcher::frame> decode_from_launcher(std::span<const std::uint8_t> bytes) {
  return decode<schema::FromLauncher, from_launcher::frame>(bytes, read_from_launcher);
}

result<to_launcher::frame> decode_to_launcher(std::span<const std::uint8_t> bytes) {
  return decode<schema::ToLauncher, to_launcher::frame>(bytes, read_to_launcher);
}

}  // namespace troupe
