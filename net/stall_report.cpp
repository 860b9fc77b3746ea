#include "net/stall_report.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace troupe {
namespace {

using goal::operation_kind;

class stall {
 public:
  stall(const schedule_progress& progress, const network_model& model)
      : progress_(progress), model_(model), all_(progress.schedule()) {}

  std::vector<stall_finding> findings();

 private:
  using partner_key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // to, from, tag

  operation_phase phase(std::uint32_t index) const { return progress_.state(index).phase(); }
  bool is_open(std::uint32_t index) const { return phase(index) != operation_phase::done; }
  std::string name(std::uint32_t index) const;
  void collect();
  void link_dependencies();
  void link_partners();
  std::vector<std::uint32_t> find_cycle() const;
  stall_finding cycle_finding(const std::vector<std::uint32_t>& cycle) const;
  stall_finding list_finding(const std::vector<std::uint32_t>& which, const char* what) const;

  const schedule_progress& progress_;
  const network_model& model_;
  const goal::schedule& all_;
  std::vector<std::uint32_t> open_;                // unfinished operations, ascending
  std::vector<std::vector<std::uint32_t>> waits_;  // [place in open_]: places it waits for
  std::vector<std::uint32_t> lonely_recvs_, lonely_sends_;
};

std::string stall::name(std::uint32_t index) const {
  const auto& what = all_[index];
  auto text = "rank " + std::to_string(what.rank) + " operation "
              + std::to_string(index - all_.first_of(what.rank) + 1) + " (" + to_string(what.kind)
              + " " + std::to_string(what.size);
  if (what.kind == operation_kind::calc) return text + " ns)";
  const auto tag = all_.tag(what);
  text += what.kind == operation_kind::send ? " bytes to " : " bytes from ";
  text += what.peer == goal::any_source ? "any" : std::to_string(what.peer);
  return text + " tag " + (tag == goal::any_tag ? "any" : std::to_string(tag)) + ")";
}

void stall::collect() {
  for (std::uint32_t i = 0; i < all_.size(); ++i)
    if (is_open(i)) open_.push_back(i);
  waits_.resize(open_.size());
}

void stall::link_dependencies() {
  const auto place = [&](std::uint32_t index) {
    return static_cast<std::uint32_t>(std::lower_bound(open_.begin(), open_.end(), index)
                                      - open_.begin());
  };
  for (std::uint32_t at = 0; at < open_.size(); ++at)
    for (const auto later : all_.dependents(open_[at])) {
      const bool holds = later.waits_for_start() ? phase(open_[at]) == operation_phase::blocked
                                                 : !model_.has_ended(open_[at]);
      if (holds) waits_[place(later.operation())].push_back(at);
    }
}

// A send can be for recvs of four keys: with its source and tag, or either or both left open. One
// stands for each other's in turn: the first that waits for the first, the second for the second.
void stall::link_partners() {
  struct line {
    std::vector<std::uint32_t> places;
    std::size_t next = 0;
  };
  std::map<partner_key, line> sends, recvs;
  const auto keys_of = [&](const goal::operation& send) {
    const auto tag = all_.tag(send);
    return std::array<partner_key, 4>{partner_key{send.peer, send.rank, tag},
                                      partner_key{send.peer, goal::any_source, tag},
                                      partner_key{send.peer, send.rank, goal::any_tag},
                                      partner_key{send.peer, goal::any_source, goal::any_tag}};
  };
  const auto key_of = [&](const goal::operation& recv) {
    return partner_key{recv.rank, recv.peer, all_.tag(recv)};
  };
  for (std::uint32_t at = 0; at < open_.size(); ++at) {
    const auto& what = all_[open_[at]];
    if (phase(open_[at]) != operation_phase::blocked) continue;
    if (what.kind == operation_kind::recv) recvs[key_of(what)].places.push_back(at);
    if (what.kind != operation_kind::send) continue;
    for (const auto& key : keys_of(what)) sends[key].places.push_back(at);
  }
  const auto take = [](std::map<partner_key, line>& from, const partner_key& key,
                       std::vector<std::uint32_t>& into) {
    const auto found = from.find(key);
    if (found == from.end() || found->second.next == found->second.places.size()) return false;
    into.push_back(found->second.places[found->second.next++]);
    return true;
  };
  for (std::uint32_t at = 0; at < open_.size(); ++at) {
    const auto index = open_[at];
    const auto& what = all_[index];
    if (phase(index) == operation_phase::posted) {
      if (!take(sends, key_of(what), waits_[at])) lonely_recvs_.push_back(index);
    } else if (what.kind == operation_kind::send && phase(index) != operation_phase::blocked) {
      const auto keys = keys_of(what);
      if (!std::any_of(keys.begin(), keys.end(),
                       [&](const auto& key) { return take(recvs, key, waits_[at]); }))
        lonely_sends_.push_back(index);
      if (model_.has_ended(index)) waits_[at].clear();
    }
  }
}

/// Places of open_: each waits for the next, the last for the first; or nothing.
std::vector<std::uint32_t> stall::find_cycle() const {
  enum : std::uint8_t { unseen, on_path, finished };
  std::vector<std::uint8_t> seen(open_.size(), unseen);
  std::vector<std::pair<std::uint32_t, std::size_t>> path;  // place, how many of its waits are done
  for (std::uint32_t start = 0; start < open_.size(); ++start) {
    if (seen[start] != unseen) continue;
    path.assign(1, {start, 0});
    seen[start] = on_path;
    while (!path.empty()) {
      auto& [at, done] = path.back();
      if (done == waits_[at].size()) {
        seen[at] = finished;
        path.pop_back();
        continue;
      }
      const auto next = waits_[at][done++];
      if (seen[next] == unseen) {
        seen[next] = on_path;
        path.emplace_back(next, 0);
      } else if (seen[next] == on_path) {
        std::vector<std::uint32_t> cycle;
        for (auto i = path.size(); i-- > 0;) {
          cycle.push_back(path[i].first);
          if (path[i].first == next) break;
        }
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
    }
  }
  return {};
}

stall_finding stall::cycle_finding(const std::vector<std::uint32_t>& cycle) const {
  stall_finding made;
  made.kind = errc::deadlock;
  made.count = cycle.size();
  for (const auto at : cycle) {
    made.ranks.push_back(all_[open_[at]].rank);
    if (made.cycle.size() < stall_cycle_max) made.cycle.push_back(name(open_[at]));
    if (made.operations.size() < stall_operations_max) made.operations.push_back(name(open_[at]));
  }
  std::sort(made.ranks.begin(), made.ranks.end());
  made.ranks.erase(std::unique(made.ranks.begin(), made.ranks.end()), made.ranks.end());
  made.text = "operations wait for each other: ";
  for (const auto& each : made.operations) made.text += each + " -> ";
  made.text += cycle.size() > made.operations.size()
                   ? "… (" + std::to_string(cycle.size()) + " in all)"
                   : made.operations.front();
  return made;
}

stall_finding stall::list_finding(const std::vector<std::uint32_t>& which, const char* what) const {
  stall_finding made;
  made.kind = errc::mismatch;
  made.count = which.size();
  for (const auto index : which) {
    if (made.ranks.empty() || made.ranks.back() != all_[index].rank)
      made.ranks.push_back(all_[index].rank);
    if (made.operations.size() < stall_operations_max) made.operations.push_back(name(index));
  }
  made.text = std::to_string(which.size()) + " " + what + ": " + made.operations.front();
  if (which.size() > 1) made.text += ", …";
  return made;
}

std::vector<stall_finding> stall::findings() {
  collect();
  if (open_.empty()) return {};
  link_dependencies();
  link_partners();
  std::vector<stall_finding> all;
  if (const auto cycle = find_cycle(); !cycle.empty()) all.push_back(cycle_finding(cycle));
  if (!lonely_recvs_.empty())
    all.push_back(list_finding(lonely_recvs_, "recv(s) that no send is for"));
  if (!lonely_sends_.empty())
    all.push_back(list_finding(lonely_sends_, "message(s) that no recv takes"));
  std::uint64_t blocked = 0;
  for (const auto index : open_) blocked += phase(index) == operation_phase::blocked;
  if (!all.empty() && blocked > 0)
    all.front().text += "; " + std::to_string(blocked) + " operation(s) never had their turn";
  return all;
}

}  // namespace

std::vector<stall_finding> explain_stall(const schedule_progress& progress,
                                         const network_model& model) {
  return stall(progress, model).findings();
}

}  // namespace troupe
