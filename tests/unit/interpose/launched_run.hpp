// launched_run: a run's processes as a test sees them: the launcher's frames and the ranks' output.
#pragma once

#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "interpose/launch/launcher.hpp"
#include "messages/wire_codec.hpp"

namespace troupe {

/// Neither gone nor a zombie.
bool is_alive(pid_t pid);
/// Waits for it, up to a minute.
bool goes_away(pid_t pid);

/// A folder that is removed with what is in it.
class scratch_folder {
 public:
  scratch_folder();
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  const std::string& path() const { return path_; }
  /// Writes the file and returns its path.
  std::string file(const std::string& name, const std::string& text, int mode = 0644) const;

 private:
  std::string path_;
};

class launched_run {
 public:
  launched_run(std::vector<std::string> command, std::uint32_t world,
               std::vector<std::pair<std::string, std::string>> environment = {});
  ~launched_run();

  /// The next frame of the launcher; fails the test after a minute.
  from_launcher::frame next();
  /// Reads frames until every rank has ended (or the start failed).
  void await_ends();
  void send(const to_launcher::frame& frame);
  /// A line of a rank's standard output, without its end.
  std::string line_of(std::uint32_t rank);
  /// Everything a rank wrote, to the end.
  std::string output_of(std::uint32_t rank);
  std::string errors_of(std::uint32_t rank);

  launcher started;
  std::map<std::uint32_t, pid_t> pids;
  std::map<std::uint32_t, from_launcher::ended> ends;
  std::vector<error> failures;

 private:
  frame_splitter frames_;
};

}  // namespace troupe
