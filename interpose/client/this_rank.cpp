#include "interpose/client/this_rank.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "interpose/client/launched_rank.hpp"
#include "interpose/preload/blocking_hooks.h"

namespace troupe {
namespace {

std::atomic<rank_client*> current = nullptr;
constexpr const char* rank_pid_variable = "TROUPE_RANK_PID";

const troupe_blocking_hooks hooks{
    [](const void* address) -> std::uint64_t {
      auto* rank = this_rank();
      return rank ? rank->watched(address) : 0;
    },
    [](std::uint64_t operation) {
      if (auto* rank = this_rank()) rank->future_wait_begins({operation});
    },
    [](std::uint64_t) -> int {
      auto* rank = this_rank();
      return rank && rank->future_wait_ended();
    },
    [] {
      if (auto* rank = this_rank()) rank->retake_slot();
    },
    []() -> int {
      auto* rank = this_rank();
      return rank && rank->sleep_begins();
    },
    [] {
      if (auto* rank = this_rank()) rank->sleep_ended();
    },
    [](const void* object) -> int {
      auto* rank = this_rank();
      return rank && rank->park_begins(object);
    },
    []() -> int {
      auto* rank = this_rank();
      return rank && rank->park_ended();
    },
    []() -> int {
      auto* rank = this_rank();
      return rank && is_from_mpi() && rank->poll();
    },
};

void set_hooks(const troupe_blocking_hooks* table) {
  using setter = decltype(&troupe_set_blocking_hooks);
  if (auto set = reinterpret_cast<setter>(::dlsym(RTLD_DEFAULT, "troupe_set_blocking_hooks")))
    set(table);
}

/// The child of a rank is not the rank. No lock is touched: another thread of the parent may have
/// held it.
void forget_in_child() {
  auto* rank = current.exchange(nullptr);
  if (!rank) return;
  set_hooks(nullptr);
  rank->abandon_in_child();
}

void end_without_runner(const error& why) {
  ::signal(SIGPIPE, SIG_IGN);  // standard error may have lost its reader too
  std::fprintf(stderr, "troupe: this rank ends: %s\n", to_string(why).c_str());
  ::_exit(exit_status(errc::internal));
}

std::optional<std::uint32_t> number_from(const char* text) {
  std::uint32_t number{};
  const auto* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

rank_client* this_rank() { return current.load(std::memory_order_acquire); }

result<void> connect_this_rank() {
  const auto own_pid = std::to_string(::getpid());
  const char* socket_name = std::getenv("TROUPE_SOCKET");
  const char* rank = rank_in_environment();
  const char* rank_pid = std::getenv(rank_pid_variable);
  if (!socket_name) return error{errc::usage, "TROUPE_SOCKET is not set: no run to take part in"};
  if (rank_pid && own_pid != rank_pid)
    return error{errc::usage,
                 "this process is a child of the rank in process " + std::string(rank_pid)};
  const auto number = rank ? number_from(rank) : std::nullopt;
  if (!number) return error{errc::usage, "RANK is not set to a rank's number"};

  static std::mutex connecting;
  const std::lock_guard hold(connecting);
  if (auto* already = this_rank()) {
    if (auto why = already->gone(); why.code != errc::none) return why;
    return {};
  }
  tell_warden({*number});
  take_own_output({*number});
  TROUPE_TRY(client,
             rank_client::connect({socket_name, {*number}, ::getpid(), end_without_runner}));
  ::setenv(rank_pid_variable, own_pid.c_str(), 1);
  static const int handled = ::pthread_atfork(nullptr, nullptr, forget_in_child);
  if (handled != 0) return error{errc::no_resources, "no memory to be told of forks"};
  current.store(client.release(), std::memory_order_release);
  set_hooks(&hooks);
  return {};
}

}  // namespace troupe
