// group_directory: knows the proxy of each communicator; spawns it when the first member opens it.
//
// Asked by: rank (open_group), coordinator (withdraw_member), stall_watch (describe_open).  Asks:
// slot_keeper, its proxies. Invariant: all members of a communicator name the same members in the
// same order.
#include <fmt/format.h>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <map>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"
#include "actors/run_tables.hpp"

namespace troupe {
namespace {

struct known_group {
  std::vector<rank_id> members;
  group_proxy_actor proxy;
};

struct directory_state {
  std::map<communicator_id, known_group> groups;
  std::vector<withdraw_member> gone;

  ~directory_state() {  // a held promise keeps its own actor: the proxies end because they are told
                        // to
    for (auto& [id, group] : groups)
      caf::anon_send_exit(group.proxy, caf::exit_reason::user_shutdown);
  }
};

using self_pointer = group_directory_actor::stateful_pointer<directory_state>;

result<void> check(const open_group& ask) {
  const auto& wanted = ask.wanted;
  auto refuse = [&](const char* why) {
    return error{errc::bad_input,
                 fmt::format("rank {} opens communicator {} ({} members): {}", ask.rank.value,
                             wanted.name, wanted.members.size(), why)};
  };
  if (wanted.members.empty()) return refuse("it has no members");
  auto sorted = wanted.members;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.back().value >= logical_ranks_max) return refuse("a member is outside of any world");
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return refuse("a member is named twice");
  if (!std::binary_search(sorted.begin(), sorted.end(), ask.rank))
    return refuse("the rank is not a member");
  if (make_communicator_id(wanted.members, wanted.ordinal) != wanted.communicator)
    return refuse("its id is not its members'");
  return {};
}

}  // namespace

group_directory_actor::behavior_type behave_as_directory(self_pointer self,
                                                         const run_surroundings& run,
                                                         slot_keeper_actor slots,
                                                         recorder_actor recorder) {
  return {
      [=](const open_group& ask) -> caf::result<group_opened> {
        if (auto good = check(ask); !good) return to_caf(good.error());
        const auto& wanted = ask.wanted;
        auto [at, fresh] = self->state.groups.try_emplace(wanted.communicator);
        auto& group = at->second;
        if (fresh) {
          group.members = wanted.members;
          group.proxy = spawn_group_proxy(
              self->system(), run, {wanted.communicator, wanted.members, wanted.rules, wanted.name},
              recorder);
          self->send(slots, know_group{wanted.communicator, wanted.members});
          for (const auto& gone : self->state.gone) self->send(group.proxy, gone);
        }
        if (group.members != wanted.members)
          return to_caf(
              {errc::bad_input,
               fmt::format("rank {} opens communicator {} with other members than its peers",
                           ask.rank.value, wanted.name)});
        return group_opened{group.proxy};
      },
      [=](const withdraw_member& gone) {
        self->state.gone.push_back(gone);
        for (auto& [id, group] : self->state.groups) self->send(group.proxy, gone);
      },
      [=](const describe_open& ask) -> caf::result<open_described> {
        if (self->state.groups.empty()) return open_described{};
        auto held = self->make_response_promise<open_described>();
        auto all = std::make_shared<open_described>();
        auto left = std::make_shared<std::size_t>(self->state.groups.size());
        for (auto& [id, group] : self->state.groups)
          self->request(group.proxy, caf::infinite, ask)
              .then([=](const open_described& some) mutable {
                all->open.insert(all->open.end(), some.open.begin(), some.open.end());
                if (--*left == 0) held.deliver(std::move(*all));
              });
        return held;
      },
  };
}

group_directory_actor spawn_group_directory(caf::actor_system& system, const run_surroundings& run,
                                            slot_keeper_actor slots, recorder_actor recorder) {
  return system.spawn(behave_as_directory, run, std::move(slots), std::move(recorder));
}

}  // namespace troupe
