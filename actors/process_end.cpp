#include "actors/process_end.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace troupe {

error judge_end(rank_id rank, std::int32_t wait_status) {
  if (WIFEXITED(wait_status)) {
    const auto status = WEXITSTATUS(wait_status);
    if (status == 0) return {errc::none, fmt::format("rank {} ended", rank.value)};
    return {errc::program_failed, fmt::format("rank {} exited with status {}", rank.value, status)};
  }
  const auto number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  switch (number) {
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
    case SIGUSR1:
    case SIGUSR2:
      return {errc::lost_rank, fmt::format("rank {} was killed from outside by signal {} ({})",
                                           rank.value, number, ::strsignal(number))};
    default:
      return {errc::program_failed, fmt::format("rank {} died by signal {} ({})", rank.value,
                                                number, ::strsignal(number))};
  }
}

std::string tell_refusal(const rank_page& page) {
  const auto refused = page.refused_bytes.load(std::memory_order_acquire);
  if (refused == 0) return {};
  return fmt::format(
      ", and had been refused {} bytes for a tensor: its tensors on the CPU held {}, "
      "which left too little of the capacity",
      refused, page.held_at_refusal_bytes.load(std::memory_order_relaxed));
}

}  // namespace troupe
