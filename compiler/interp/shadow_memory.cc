#include "compiler/interp/shadow_memory.h"

#include <algorithm>
#include <numeric>

namespace intent::interp {
namespace {

// Bytes that a view's elements reach.
struct Span {
  const std::byte *begin, *end;
};

Span SpanOf(const Resource& resource) {
  const int64_t size = StorageBytes(resource.dtype);
  int64_t low = 0, high = 0;
  for (size_t axis = 0; axis < resource.extents.size(); ++axis) {
    const int64_t reach = (resource.extents[axis] - 1) * resource.strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  return {resource.origin + low * size, resource.origin + (high + 1) * size};
}

bool IsEmpty(const Resource& resource) {
  return std::find(resource.extents.begin(), resource.extents.end(), 0) != resource.extents.end();
}

// Sets every cell of a view's elements. Axes of stride zero are walked once.
bool MarkAll(const Resource& resource, bool written, ShadowRegion* region) {
  std::vector<int64_t> extents, strides;
  for (size_t axis = 0; axis < resource.extents.size(); ++axis) {
    if (resource.strides[axis] == 0) continue;
    extents.push_back(resource.extents[axis]);
    strides.push_back(resource.strides[axis]);
  }
  const int64_t size = StorageBytes(resource.dtype);
  const int64_t cells = size / region->cell_bytes();
  std::vector<int64_t> coordinates(extents.size(), 0);
  int64_t offset = 0;
  while (true) {
    const int64_t first = region->CellAt(resource.origin + offset * size);
    for (int64_t cell = first; cell < first + cells; ++cell) {
      if (!region->SetWritten(cell, written)) return false;
    }
    size_t axis = extents.size();
    while (axis > 0) {
      --axis;
      offset += strides[axis];
      if (++coordinates[axis] < extents[axis]) break;
      offset -= strides[axis] * extents[axis];
      coordinates[axis] = 0;
      if (axis == 0) return true;
    }
    if (extents.empty()) return true;
  }
}

}  // namespace

std::shared_ptr<ShadowRegion> ShadowRegion::Make(MemoryBudget* budget, const std::byte* begin,
                                                 int64_t bytes, int64_t cell_bytes, bool written) {
  const int64_t cells = bytes / cell_bytes;
  std::shared_ptr<ShadowRegion> region(new ShadowRegion(budget, begin, cells, cell_bytes, written));
  const int64_t pages = (cells + kFlags - 1) / kFlags;
  if (!region->Take(static_cast<int64_t>(sizeof(ShadowRegion)) +
                    pages * static_cast<int64_t>(sizeof(Flags)))) {
    return nullptr;
  }
  region->flags_.resize(static_cast<size_t>(pages));
  return region;
}

ShadowRegion::ShadowRegion(MemoryBudget* budget, const std::byte* begin, int64_t cells,
                           int64_t cell_bytes, bool written)
    : budget_(budget), begin_(begin), cells_(cells), cell_bytes_(cell_bytes), written_(written) {}

ShadowRegion::~ShadowRegion() { budget_->Give(taken_); }

bool ShadowRegion::Take(int64_t bytes) {
  if (!budget_->Take(bytes)) return false;
  taken_ += bytes;
  return true;
}

bool ShadowRegion::SetWritten(int64_t cell, bool written) {
  Flags& page = flags_[static_cast<size_t>(cell / kFlags)];
  if (page == nullptr) {
    if (written == written_) return true;
    const int64_t size = std::min(kFlags, cells_ - cell / kFlags * kFlags);
    if (!Take(size)) return false;
    page = std::make_unique<bool[]>(static_cast<size_t>(size));
    std::fill_n(page.get(), size, written_);
  }
  page[static_cast<size_t>(cell % kFlags)] = written;
  return true;
}

AccessHistory* ShadowRegion::HistoryOf(int64_t cell, uint32_t generation) {
  const auto bytes_of = [](int64_t count) {
    return count * static_cast<int64_t>(sizeof(AccessHistory));
  };
  if (histories_.empty()) {
    const int64_t pages = (cells_ + kHistories - 1) / kHistories;
    if (!Take(pages * static_cast<int64_t>(sizeof(Histories)))) return nullptr;
    histories_.resize(static_cast<size_t>(pages));
  }
  if (generation_ != generation) {
    for (Histories& page : histories_) {
      if (page != nullptr) std::fill_n(page.get(), kHistories, AccessHistory());
    }
    generation_ = generation;
  }
  Histories& page = histories_[static_cast<size_t>(cell / kHistories)];
  if (page == nullptr) {
    if (!Take(bytes_of(kHistories))) return nullptr;
    page = std::make_unique<AccessHistory[]>(kHistories);
  }
  return &page[static_cast<size_t>(cell % kHistories)];
}

bool MakeViewRegions(MemoryBudget* budget, std::span<const ShadowedView> views) {
  std::vector<ShadowedView> sorted;
  for (const ShadowedView& view : views) {
    if (!IsEmpty(*view.resource)) sorted.push_back(view);
  }
  std::sort(sorted.begin(), sorted.end(), [](const ShadowedView& a, const ShadowedView& b) {
    return SpanOf(*a.resource).begin < SpanOf(*b.resource).begin;
  });
  for (size_t first = 0; first < sorted.size();) {
    Span whole = SpanOf(*sorted[first].resource);
    size_t last = first + 1;
    while (last < sorted.size() && SpanOf(*sorted[last].resource).begin < whole.end) {
      whole.end = std::max(whole.end, SpanOf(*sorted[last].resource).end);
      ++last;
    }
    const std::span<const ShadowedView> group = std::span(sorted).subspan(first, last - first);
    int64_t cell = 0;
    bool any_initialised = false, any_not = false;
    for (const ShadowedView& view : group) {
      cell = std::gcd(cell, StorageBytes(view.resource->dtype));
      cell = std::gcd(cell, static_cast<int64_t>(view.resource->origin - whole.begin));
      (view.initialised ? any_initialised : any_not) = true;
    }
    cell = std::gcd(cell, static_cast<int64_t>(whole.end - whole.begin));
    auto region =
        ShadowRegion::Make(budget, whole.begin, whole.end - whole.begin, cell, any_initialised);
    if (region == nullptr) return false;
    for (const bool initialised : {false, true}) {
      if (!any_initialised || !any_not) break;
      for (const ShadowedView& view : group) {
        if (view.initialised != initialised) continue;
        if (!MarkAll(*view.resource, initialised, region.get())) return false;
      }
    }
    for (const ShadowedView& view : group) view.resource->shadow = region;
    first = last;
  }
  return true;
}

}  // namespace intent::interp
