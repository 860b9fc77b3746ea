// replacement_file: a file that appears under its name only when it is whole.
//
// It is written beside that name and renamed at the end; a failure, or Ctrl-C, leaves nothing. One
// at a time in a process: from create() until it is gone, SIGINT, SIGTERM and SIGHUP remove it and
// end the process with status 130. Not here: the writing (graph/output_file.hpp).
#pragma once

#include <string>

#include "messages/error.hpp"

namespace troupe {

class replacement_file {
 public:
  /// errc::bad_input: `path` is there already and is no regular file.
  static result<replacement_file> reserve(const std::string& path);
  replacement_file(replacement_file&& other) noexcept;
  replacement_file& operator=(replacement_file&&) = delete;
  ~replacement_file();  ///< removes what was written, unless it was put in place

  /// Where to write.
  const std::string& temporary_path() const { return temporary_; }
  /// Renames it; what had that name is gone.
  result<void> put_in_place();

 private:
  replacement_file(std::string path, std::string temporary);

  std::string path_, temporary_;
};

}  // namespace troupe
