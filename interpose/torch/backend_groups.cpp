// backend_groups: what the backend says of its group, groups split from it, and the barrier that
// names who is missing.
#include "interpose/client/troupe_client.h"
#include "interpose/torch/backend.hpp"
#include "interpose/torch/gil.hpp"
#include "interpose/torch/posting.hpp"
#include "interpose/torch/store.hpp"

namespace troupe {

namespace {

const std::vector<std::uint8_t> passed{'p'};

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::string names_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "Rank " : "Ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

/// Who has no time at all has met nobody: that is said first, as gloo says it.
std::string out_of_time(int rank, std::chrono::milliseconds timeout) {
  if (timeout.count() > 0) return {};
  return "Rank " + std::to_string(rank) + " timed out in monitoredBarrier after "
         + std::to_string(timeout.count()) + " ms: ";
}

}  // namespace

/// Everyone leaves a key; the last to come decides that it passed, or whose time is up first that
/// it did not: there is one decision, and all wait for it.
void troupe_backend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  without_gil unlocked;
  const auto timeout = options.timeout == c10d::kUnsetTimeout ? timeout_.load() : options.timeout;
  store keys("monitored barrier/" + std::to_string(communicator_) + '/'
                 + std::to_string(monitored_barriers_++),
             timeout);
  auto key_of = [](int rank) { return "rank " + std::to_string(rank); };
  keys.set(key_of(getRank()), {});
  if (keys.add("arrived", 1) == getSize()) keys.compareSet("decided", {}, passed);
  // To a store no time is any time.
  if (!(timeout.count() > 0 ? keys.arrives("decided") : keys.check({"decided"}))) {
    std::vector<int> missing;
    for (int rank = 0; rank < getSize(); ++rank)
      if (!keys.check({key_of(rank)})) missing.push_back(rank);
    if (!wait_all_ranks && missing.size() > 1) missing.resize(1);
    if (!missing.empty())
      keys.compareSet("decided", {},
                      bytes_of(out_of_time(getRank(), timeout) + names_of(missing)
                               + " failed to pass monitoredBarrier in "
                               + std::to_string(timeout.count()) + " ms"));
  }
  const auto decision = keys.get("decided");
  if (decision != passed)
    refuse((getRank() == 0 ? ""
                           : "Rank " + std::to_string(getRank())
                                 + " successfully reached monitoredBarrier, but received errors "
                                   "while waiting for send/recv from rank 0: ")
           + std::string(decision.begin(), decision.end()) + " (of a group of "
           + std::to_string(getSize()) + ")");
}

#if TORCH_VERSION_MAJOR >= 2

namespace {

/// Options have a name for the group in newer versions.
template <class Options>
void name_group(Options& options, const std::string& name) {
  if constexpr (requires { options.group_name; }) options.group_name = name;
}

template <class Options>
std::string name_in(const Options& options) {
  if constexpr (requires { options.group_name; }) return options.group_name;
  return {};
}

}  // namespace

troupe_backend::options_ptr troupe_backend::getBackendOptions() {
  auto options = c10::make_intrusive<c10d::Backend::Options>(getBackendName(), timeout_.load());
  name_group(*options, group_.name);
  return options;
}

c10::intrusive_ptr<c10d::Backend> troupe_backend::split(const std::vector<int>& ranks,
                                                        const options_ptr& options) {
  group part;
  part.rank = -1;
  part.rules = group_.rules;
  part.name = options ? name_in(*options) : "";
  if (part.name.empty()) part.name = "a part of " + group_.name;
  for (auto rank : ranks) {
    if (rank < 0 || rank >= getSize())
      refuse("split: group " + group_.name + " has no rank " + std::to_string(rank));
    if (rank == getRank()) part.rank = static_cast<int>(part.members.size());
    part.members.push_back(group_.members[static_cast<std::size_t>(rank)]);
  }
  if (part.rank < 0) return {};
  return open(std::move(part), options ? options->timeout : timeout_.load());
}

c10::intrusive_ptr<c10d::Backend> troupe_backend::split(const c10::intrusive_ptr<c10d::Store>&,
                                                        const std::vector<int>& ranks,
                                                        const options_ptr& options) {
  return split(ranks, options);
}

troupe_backend::work_ptr troupe_backend::gather_into_tensor(at::Tensor& whole, at::Tensor& part,
                                                            const c10d::GatherOptions& options) {
  return post(operation::gather, c10d::OpType::GATHER, options.timeout, [&](posting& made) {
    made.root = static_cast<int>(options.rootRank);
    made.type = require_dense({part});
    made.inputs = {part};
    made.count = elements_in(made.inputs);
    if (made.root != getRank()) return;
    require_dense({part, whole});
    require_whole(whole, part, getSize(), group_.rules);
    made.outputs = {whole};
  });
}

#endif

}  // namespace troupe
