// perfetto_exporter: a timeline in Perfetto's own format (protocol buffers, track events), for
// ui.perfetto.dev.
//
// A process a rank with the tracks program, one a communicator's stream, slot; and a process
// "slots" with a track a slot that shows which rank holds it: there one sees the switches. Arrows
// go from issue to operation. Source of the field numbers: perfetto's
// protos/perfetto/trace/{trace,trace_packet}.proto and track_event/*.proto.
#pragma once

#include <map>
#include <string>

#include "graph/buffered_output.hpp"
#include "graph/protobuf_sink.hpp"
#include "graph/timeline_exporter.hpp"

namespace troupe {

class perfetto_exporter final : public timeline_exporter {
 public:
  explicit perfetto_exporter(buffered_output& to) : to_(to) {}

  void begin(const execution_graph& tables) override;
  void add(rank_id rank, std::span<const node> nodes,
           std::span<const slot_interval> of_rank) override;
  void end() override;

 private:
  /// Strings that repeat are written once and named by number.
  class interned {
   public:
    /// `fresh` gets the string's definition when it is new.
    std::uint64_t number(const std::string& text, std::uint32_t field, protobuf_sink& fresh);

   private:
    std::map<std::string, std::uint64_t> numbers_;
  };

  struct slice {
    std::uint64_t track{}, start_ns{}, end_ns{};
    std::string name;
    const char* category = "";
    bool is_instant = false;
    std::uint64_t starts_arrow{}, ends_arrow{};  // 0: none
    protobuf_sink annotations{};                 // fields of a TrackEvent
  };

  void packet(protobuf_sink content);
  void process(std::uint64_t uuid, std::uint64_t pid, const std::string& name);
  void track(std::uint64_t uuid, std::uint64_t parent, std::uint64_t order,
             const std::string& name);
  void put(const slice& what, protobuf_sink fresh);
  void annotate(protobuf_sink& event, protobuf_sink& fresh, const char* name,
                const std::string& value);
  void annotate(protobuf_sink& event, protobuf_sink& fresh, const char* name, std::uint64_t value);
  void annotate_node(protobuf_sink& event, protobuf_sink& fresh, const node& what, rank_id rank,
                     std::size_t index);

  buffered_output& to_;
  const execution_graph* tables_ = nullptr;
  interned names_, categories_, annotation_names_;
  std::uint64_t arrows_ = 0;
  bool has_packets_ = false;
};

}  // namespace troupe
