#pragma once

// LoadedArtifacts: what an executor keeps ready to run, by artifact id; the least recently used one
// goes when there are too many. One thread.

#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "server/worker/executable.h"

namespace intent {

class LoadedArtifacts {
 public:
  // Each loaded kernel takes memory mappings, of which a process has a bounded number.
  static constexpr size_t kMaxLoaded = 4096;

  // Null when it is not here; valid until the next Add.
  Executable* Find(const std::string& id) {
    const auto found = index_.find(id);
    if (found == index_.end()) return nullptr;
    recency_.splice(recency_.begin(), recency_, found->second);
    return found->second->second.get();
  }

  void Add(const std::string& id, std::unique_ptr<Executable> executable) {
    if (const auto found = index_.find(id); found != index_.end()) {
      recency_.erase(found->second);
      index_.erase(found);
    }
    recency_.emplace_front(id, std::move(executable));
    index_[id] = recency_.begin();
    if (recency_.size() > kMaxLoaded) {
      index_.erase(recency_.back().first);
      recency_.pop_back();
    }
  }

 private:
  using Recency = std::list<std::pair<std::string, std::unique_ptr<Executable>>>;
  Recency recency_;
  std::map<std::string, Recency::iterator> index_;
};

}  // namespace intent
