#include "tools/replacement_file.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;

namespace {

void write(const std::string& path, const std::string& text) {
  write_file(path, text.data(), text.size());
}

std::string text_of(const std::string& path) {
  const auto bytes = bytes_of_file(path);
  return {bytes.begin(), bytes.end()};
}

std::size_t files_beside(const std::string& path) {
  const std::filesystem::directory_iterator all{std::filesystem::path{path}.parent_path()};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("a file has its old content until the new one is put in place") {
  temporary_folder folder;
  const auto path = folder.file("out");
  write(path, "old");
  auto file = replacement_file::reserve(path);
  REQUIRE(file);
  write(file->temporary_path(), "new");
  CHECK(text_of(path) == "old");
  REQUIRE(file->put_in_place());
  CHECK(text_of(path) == "new");
  CHECK(files_beside(path) == 1);
}

TEST_CASE("what is not put in place leaves nothing") {
  temporary_folder folder;
  const auto path = folder.file("out");
  {
    auto file = replacement_file::reserve(path);
    REQUIRE(file);
    write(file->temporary_path(), "half");
    CHECK(files_beside(path) == 1);
  }
  CHECK(files_beside(path) == 0);
}

TEST_CASE("what is no regular file is not replaced") {
  temporary_folder folder;
  const auto path = folder.file("folder");
  std::filesystem::create_directory(path);
  CHECK(replacement_file::reserve(path).error().code == errc::bad_input);
  CHECK(replacement_file::reserve("/dev/null").error().code == errc::bad_input);
}

TEST_CASE("a signal removes the half and ends the process as interrupted") {
  temporary_folder folder;
  const auto path = folder.file("out");
  const auto number = GENERATE(SIGINT, SIGTERM, SIGHUP);
  const auto child = ::fork();
  if (child == 0) {
    auto file = replacement_file::reserve(path);
    if (!file) ::_exit(1);
    write(file->temporary_path(), "half");
    ::raise(number);
    ::_exit(2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(files_beside(path) == 0);
}

TEST_CASE("signals end a process as before once the file is in place") {
  temporary_folder folder;
  const auto child = ::fork();
  if (child == 0) {
    ::signal(SIGTERM, SIG_DFL);  // the test program has a handler of its own
    auto file = replacement_file::reserve(folder.file("out"));
    if (!file) ::_exit(1);
    write(file->temporary_path(), "whole");
    if (!file->put_in_place()) ::_exit(2);
    ::raise(SIGTERM);
    ::_exit(3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
  CHECK(text_of(folder.file("out")) == "whole");
}
