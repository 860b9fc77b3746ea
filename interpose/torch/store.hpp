// store: torch's key-value store over the run's own, in which every wait lets other ranks run.
//
// One store serves the whole run; a name keeps apart what would be stores of their own (another
// address, another file).
#pragma once

#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace troupe {

class store : public c10d::Store {
 public:
  /// Keys are the run's, below `name`.
  store(std::string name, std::chrono::milliseconds timeout)
      : c10d::Store(timeout), prefix_(std::move(name) + '/') {}

  void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
  std::vector<std::uint8_t> get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;
  std::vector<std::uint8_t> compareSet(const std::string& key,
                                       const std::vector<std::uint8_t>& expected,
                                       const std::vector<std::uint8_t>& desired) override;
  std::int64_t getNumKeys() override;
  /// Waits for the key; false when the store's timeout passed.
  bool arrives(const std::string& key);

#if TORCH_VERSION_MAJOR >= 2
  // In some of these versions only: without `override` (torch_version.hpp).
  c10::intrusive_ptr<c10d::Store> clone() { return c10::make_intrusive<store>(*this); }
  bool hasExtendedApi() const { return true; }
  void append(const std::string& key, const std::vector<std::uint8_t>& value);
  std::vector<std::vector<std::uint8_t>> multiGet(const std::vector<std::string>& keys);
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::vector<std::uint8_t>>& values);
  void queuePush(const std::string& key, const std::vector<std::uint8_t>& value);
  /// `block`: until there is one, or the store's timeout; else an empty queue is an error.
  std::vector<std::uint8_t> queuePop(const std::string& key, bool block);
  std::int64_t queueLen(const std::string& key);
  std::vector<std::string> listKeys();
#endif

 private:
  std::string prefix_;
};

}  // namespace troupe
