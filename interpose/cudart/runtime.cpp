#include "interpose/cudart/runtime.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "interpose/cudart/device_fields.hpp"
#include "interpose/cudart/kernel_libraries.hpp"
#include "interpose/cudart/run_link.hpp"

namespace troupe {
namespace {

std::atomic<bool> forked = false;

/// A number in the environment; the default where it is not set or no number above 0.
int number_from(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  int number = 0;
  if (!text) return otherwise;
  const auto parsed = std::from_chars(text, text + std::strlen(text), number);
  return parsed.ec == std::errc{} && number > 0 ? number : otherwise;
}

/// The devices that the program may see, as CUDA reads the list: up to the first word that names
/// none.
std::vector<int> visible_devices(int on_host) {
  std::vector<int> all;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!list) {
    for (int n = 0; n < on_host; ++n) all.push_back(n);
    return all;
  }
  const std::string_view words = list;
  for (std::size_t begin = 0; begin <= words.size();) {
    const auto end = std::min(words.find(',', begin), words.size());
    const auto word = words.substr(begin, end - begin);
    int number = -1;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), number);
    if (parsed.ec != std::errc{} || number < 0 || number >= on_host
        || std::find(all.begin(), all.end(), number) != all.end())
      break;
    all.push_back(number);
    begin = end + 1;
  }
  return all;
}

constexpr int devices_per_host = 8;

/// TROUPE_DEVICE: the name of a built-in one, or the fields of one that a run has read from a file.
result<device_profile> wanted_profile() {
  const char* variable = std::getenv("TROUPE_DEVICE");
  const std::string wanted = variable ? variable : "h100";
  if (wanted.find('=') != std::string::npos) return from_fields(wanted);
  const auto* profile = find_device_profile(wanted);
  if (profile) return *profile;
  return error{errc::usage, "there is no profile \"" + wanted + "\" (" + device_profile_names()
                                + "; a file is for troupe run --device)"};
}

/// Of a run by one of its ranks, though each might use other kernels: a line a run is enough to
/// find a slip of the pen.
void say_at_exit_what_is_unused(device_runtime& rt) {
  static device_runtime* runtime = &rt;
  std::atexit([] {
    if (forked || !is_first_rank()) return;
    for (const auto& name : runtime->times.unused(runtime->kernels.names()))
      std::fprintf(stderr,
                   "troupe: the device's file has a kernel \"%s\", but the program has none of "
                   "that name\n",
                   name.c_str());
  });
}

}  // namespace

kernel_registry& registered_kernels() {
  static auto* registry = new kernel_registry;
  return *registry;
}

thread_state& this_thread() {
  static thread_local thread_state state;
  return state;
}

device_runtime::device_runtime(device_profile profile, const std::vector<int>& host_ordinals)
    : graph({device_clock_ns, enter_run}),
      kernels(registered_kernels()),
      times(profile_),
      profile_(std::move(profile)) {
  for (int host_ordinal : host_ordinals)
    devices_.push_back(
        std::make_unique<device_state>(static_cast<int>(devices_.size()), host_ordinal, profile_));
}

device_runtime* device_runtime::make(cudaError_t& why) {
  const auto refuse = [&](const std::string& text) {
    std::fprintf(stderr, "troupe: no host device: %s\n", text.c_str());
    why = cudaErrorInitializationError;
    return nullptr;
  };
  auto profile = wanted_profile();
  if (!profile) return refuse(profile.error().context);
  if (auto loaded = load_kernel_libraries(registered_kernels()); !loaded)
    return refuse(loaded.error().context);
  int at_least = devices_per_host;  // a host has one for each of its ranks
  for (const auto* ranks : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    at_least = std::max(at_least, number_from(ranks, 1));
  const auto on_host = number_from("TROUPE_DEVICES", at_least);
  if (const char* wanted = std::getenv("TROUPE_DEVICES");
      wanted && number_from("TROUPE_DEVICES", 0) == 0)
    return refuse(std::string("TROUPE_DEVICES=") + wanted
                  + ": expected a number of GPUs, at least 1");
  const auto visible = visible_devices(on_host);
  if (visible.empty()) why = cudaErrorNoDevice;
  if (visible.empty()) return nullptr;
  ::pthread_atfork(nullptr, nullptr, [] { forked = true; });
  join_run();
  auto* made = new device_runtime(std::move(*profile), visible);
  if (!made->profile().kernels.empty()) say_at_exit_what_is_unused(*made);
  return made;
}

cudaError_t device_runtime::find(device_runtime*& runtime) {
  static cudaError_t why = cudaSuccess;
  static device_runtime* only = make(why);
  if (forked) return cudaErrorInitializationError;
  if (!only) return why;
  enter_run();
  runtime = only;
  return cudaSuccess;
}

device_state& device_runtime::current() { return device(this_thread().device); }

device_stream* device_runtime::stream(cudaStream_t handle) {
  auto& now = current();
  if (handle == nullptr || handle == cudaStreamLegacy) return &now.streams.legacy();
  if (handle == cudaStreamPerThread) {
    auto& own = this_thread().own_streams;
    own.resize(devices_.size());
    auto*& mine = own[static_cast<std::size_t>(now.ordinal)];
    if (!mine) {
      mine = &now.streams.create(true);
      mine->is_per_thread = true;
    }
    return mine;
  }
  auto* given = reinterpret_cast<device_stream*>(handle);
  for (auto& device : devices_)
    if (device->streams.has(*given)) return given;
  return nullptr;
}

cudaError_t device_runtime::queue(const std::vector<cudaStream_t>& handles, plan_step step,
                                  node_ptr* queued) {
  if (queued) *queued = nullptr;
  {
    const std::lock_guard hold(lock);
    std::vector<device_stream*> on;
    std::shared_ptr<stream_capture> capture;
    for (auto handle : handles) {
      auto* found = stream(handle);
      if (!found) return cudaErrorInvalidResourceHandle;
      if (std::find(on.begin(), on.end(), found) == on.end()) on.push_back(found);
      if (found->capture) capture = found->capture;
    }
    for (auto* one : on) {
      if (one->capture && one->capture != capture) return cudaErrorStreamCaptureMerge;
      if (one->capture && one->capture->is_spoilt()) return cudaErrorStreamCaptureInvalidated;
      if (capture && !one->capture) return cudaErrorStreamCaptureIsolation;
      if (one->is_legacy && device(one->device).streams.captures_blocking())
        return cudaErrorStreamCaptureImplicit;
    }
    if (capture) {
      capture->add(std::move(step), on);
      return cudaSuccess;
    }
    std::vector<node_ptr> after;
    for (auto* one : on)
      for (auto& node : device(one->device).streams.before(*one)) after.push_back(std::move(node));
    auto node = graph.add(std::move(step.content), after, step.order);
    for (auto* one : on) one->tail = node;
    if (queued) *queued = std::move(node);
  }
  graph.run_ready();
  return cudaSuccess;
}

cudaError_t device_runtime::queue_and_wait(cudaStream_t handle, plan_step step) {
  {
    const std::lock_guard hold(lock);
    auto* found = stream(handle);
    if (found && found->capture) {
      found->capture->spoil();
      return cudaErrorStreamCaptureUnsupported;
    }
    if (auto refused = refuse_in_capture(); refused) return refused;
  }
  node_ptr node;
  if (auto failed = queue(handle, std::move(step), &node); failed) return failed;
  wait(node);
  return cudaSuccess;
}

void device_runtime::wait(const node_ptr& node) {
  if (!node) return;
  if (!node->is_done()) graph.wait(node);
  note_awaited(node);
}

bool device_runtime::look(const node_ptr& node) {
  if (node && !node->is_done()) return false;
  if (node) note_awaited(node);
  return true;
}

void device_runtime::note_awaited(const node_ptr& node) {
  std::vector<std::pair<std::function<void(std::uint64_t)>, std::uint64_t>> news;
  {
    const std::lock_guard hold(lock);
    for (const auto& [order, count] : node->covers()) {
      if (count <= order->awaited) continue;
      order->awaited = count;
      if (order->on_awaited) news.emplace_back(order->on_awaited, count);
    }
  }
  for (const auto& [tell, count] : news) tell(count);
}

cudaError_t device_runtime::synchronize(device_state& device) {
  std::vector<node_ptr> all;
  {
    const std::lock_guard hold(lock);
    if (auto refused = refuse_in_capture(); refused) return refused;
    all = device.streams.everything();
  }
  for (const auto& node : all) wait(node);
  return cudaSuccess;
}

cudaError_t device_runtime::refuse_in_capture() {
  if (this_thread().capture_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  for (const auto& capture : captures) {
    const bool mine = capture->thread() == std::this_thread::get_id();
    const bool concerned = capture->how() == stream_capture::mode::global
                               ? mine || this_thread().capture_mode == cudaStreamCaptureModeGlobal
                               : capture->how() == stream_capture::mode::thread_local_only && mine;
    if (!concerned) continue;
    capture->spoil();
    return cudaErrorStreamCaptureUnsupported;
  }
  return cudaSuccess;
}

cudaError_t not_supported(const char* call) {
  static std::mutex lock;
  static auto* said = new std::set<std::string>;
  {
    const std::lock_guard hold(lock);
    if (said->insert(call).second)
      std::fprintf(stderr,
                   "troupe: the host device does not have %s: it answers cudaErrorNotSupported\n",
                   call);
  }
  return answer(cudaErrorNotSupported);
}

}  // namespace troupe
