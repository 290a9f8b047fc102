// What a checked run asks of accesses: assumptions, written elements, distinct destinations, and
// order between iterations (seed 000 chapters 8 to 11 and 13).

#include <algorithm>
#include <cstring>
#include <numeric>

#include "compiler/interp/checked_run.h"
#include "compiler/interp/machine.h"
#include "compiler/interp/mask.h"
#include "compiler/interp/strided.h"
#include "compiler/interp/text.h"

namespace intent::interp {
namespace {

// True if no two coordinates meet, told from the strides alone: each is longer than all shorter
// ones reach together. False says nothing.
bool AreInjective(std::span<const int64_t> extents, std::span<const int64_t> strides) {
  std::vector<std::pair<__int128, int64_t>> axes;  // magnitude, extent
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 0) return true;
    const __int128 stride = strides[axis];
    if (extents[axis] > 1) axes.emplace_back(stride < 0 ? -stride : stride, extents[axis]);
  }
  std::sort(axes.begin(), axes.end());
  __int128 reach = 0;
  for (const auto& [stride, extent] : axes) {
    if (stride <= reach) return false;
    reach += stride * (extent - 1);
  }
  return true;
}

bool IsAtomic(AccessKind kind) {
  return kind == AccessKind::kAtomicRead || kind == AccessKind::kAtomicWrite;
}

std::string_view VerbOf(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "reads";
    case AccessKind::kWrite:
      return "writes";
    case AccessKind::kAtomicRead:
      return "reads atomically";
    case AccessKind::kAtomicWrite:
      return "updates";
  }
  return "";
}

bool Overlap(const ViewArgument& a, const ViewArgument& b) {
  const auto span = [](const ViewArgument& view) {
    const int64_t size = StorageBytes(view.dtype);
    int64_t low = view.offset, high = view.offset;
    for (size_t axis = 0; axis < view.extents.size(); ++axis) {
      if (view.extents[axis] == 0) return std::pair<const std::byte*, const std::byte*>();
      const int64_t reach = (view.extents[axis] - 1) * view.strides[axis];
      (reach < 0 ? low : high) += reach;
    }
    const auto* base = static_cast<const std::byte*>(view.allocation);
    return std::pair(base + low * size, base + (high + 1) * size);
  };
  const auto [a_begin, a_end] = span(a);
  const auto [b_begin, b_end] = span(b);
  return a_begin != a_end && b_begin != b_end && a_begin < b_end && b_begin < a_end;
}

}  // namespace

bool Machine::FailRecords(const Op& op) {
  Fail(ErrorKind::kMemoryLimit, op,
       "the records of a checked run need more than the limit of " +
           std::to_string(checked_->budget.limit()) + " bytes");
  return false;
}

// Seed 000 chapter 13: noalias is the caller's promise about allocations.
std::optional<RuntimeError> Machine::CheckViews(std::span<const Argument> arguments) {
  const Function& kernel = *frame_->function;
  std::vector<Resource> resources;
  std::vector<size_t> parameters;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* view = std::get_if<ViewArgument>(&arguments[i]);
    if (view == nullptr) continue;
    for (size_t j = 0; j < arguments.size(); ++j) {
      const auto* other = std::get_if<ViewArgument>(&arguments[j]);
      if (other == nullptr || i == j || !kernel.parameters[i].noalias) continue;
      if (!Overlap(*view, *other)) continue;
      return RuntimeError{.kind = ErrorKind::kOverlap,
                          .parameter = static_cast<int32_t>(i),
                          .message = "a noalias view overlaps parameter " + std::to_string(j)};
    }
    resources.push_back(frame_->values[kernel.body.arguments[i]].resource());
    parameters.push_back(i);
  }
  std::vector<ShadowedView> views;
  for (size_t i = 0; i < resources.size(); ++i) {
    const bool initialised = kernel.parameters[parameters[i]].type.access() != Access::kOut;
    views.push_back({&resources[i], initialised});
  }
  if (!MakeViewRegions(&checked_->budget, views)) {
    return RuntimeError{.kind = ErrorKind::kMemoryLimit,
                        .message = "the records of a checked run exceed their limit"};
  }
  for (size_t i = 0; i < resources.size(); ++i) {
    frame_->values[kernel.body.arguments[parameters[i]]] = RuntimeValue(std::move(resources[i]));
  }
  return std::nullopt;
}

bool Machine::ShadowBuffer(const Op& op, bool written, Resource* resource) {
  const int64_t size = StorageBytes(resource->dtype);
  resource->shadow = ShadowRegion::Make(&checked_->budget, resource->origin,
                                        CountOf(resource->extents) * size, size, written);
  return resource->shadow != nullptr || FailRecords(op);
}

// Chapter 13: an assumption that does not hold.
RuntimeValue Machine::AssumeInBounds(const Op& op) {
  if (checked_ == nullptr) return {};  // accesses are guarded in any case
  const RuntimeValue& index = Get(op, 0);
  const RuntimeValue target = Get(op, 1);
  const Resource& resource = target.resource();
  const auto axis = static_cast<size_t>(op.attr<AxisAttr>().axis.value);
  const int64_t extent = resource.extents[axis];
  const int64_t count = index.IsScalar() ? 1 : index.tensor().count();
  for (int64_t i = 0; i < count; ++i) {
    const __int128 position =
        numerics::AsInteger(index.IsScalar() ? index.scalar() : index.tensor().At(i));
    if (position >= 0 && position < extent) continue;
    Fail(ErrorKind::kAssumption, op,
         "the index " + Text(position) + " is assumed to be in bounds of axis " +
             std::to_string(axis) + " of " + OwnerText(resource) + ", whose extent is " +
             std::to_string(extent),
         resource.parameter);
    return {};
  }
  return {};
}

// Chapter 9 (an active read follows a write of that element) and chapter 10 (conflicting accesses
// of unordered iterations).
bool Machine::CheckElement(const Op& op, const Resource& resource, int64_t offset, AccessKind kind,
                           bool reads, bool writes) {
  ShadowRegion& region = *resource.shadow;
  ParallelTasks& tasks = checked_->tasks;
  const int64_t size = StorageBytes(resource.dtype);
  const int64_t first = region.CellAt(resource.origin + offset * size);
  for (int64_t cell = first; cell < first + size / region.cell_bytes(); ++cell) {
    if (tasks.Inside()) {
      AccessHistory* history = region.HistoryOf(cell, tasks.generation());
      if (history == nullptr) return FailRecords(op);
      if (const auto conflict = tasks.Note(kind, history)) {
        const bool atomic = IsAtomic(kind) != IsAtomic(conflict->earlier_kind);
        Fail(atomic ? ErrorKind::kAtomicRace : ErrorKind::kRace, op,
             "iteration " + conflict->place + " of a parallel loop " + std::string(VerbOf(kind)) +
                 " " + ElementText(resource, offset) + ", which iteration " +
                 conflict->earlier_place + " " + std::string(VerbOf(conflict->earlier_kind)) +
                 ": nothing orders the two",
             resource.parameter);
        error_->other = conflict->earlier;
        return false;
      }
    }
    if (reads && !region.IsWritten(cell)) {
      Fail(ErrorKind::kUnwrittenRead, op,
           ElementText(resource, offset) + " is read, but was never written", resource.parameter);
      return false;
    }
    if (writes && !region.SetWritten(cell, true)) return FailRecords(op);
  }
  return true;
}

bool Machine::CheckAccess(const Op& op, const Resource& resource, const IndexAccess& access,
                          const Mask& mask, AccessKind kind, bool reads) {
  if (resource.shadow == nullptr) return true;  // a tensor, or a view without elements
  if (checked_->tasks.Inside() && !checked_->tasks.BeginAccess(op.ordinal)) {
    return FailRecords(op);
  }
  const bool writes = kind == AccessKind::kWrite || kind == AccessKind::kAtomicWrite;
  access.ForEach([&](int64_t position, int64_t offset, const IndexAccess::Violation* outside) {
    if (!mask.At(position)) return true;
    if (outside != nullptr) {
      FailBounds(op, resource, *outside);
      return false;
    }
    return CheckElement(op, resource, offset, kind, reads, writes);
  });
  return !failed();
}

// Chapter 11: `order` of what an atomic operation did.
bool Machine::CheckAtomic(const Op& op, const Resource& resource, const std::byte* element,
                          bool reads, bool writes) {
  if (resource.shadow == nullptr) return true;
  ParallelTasks& tasks = checked_->tasks;
  if (tasks.Inside() && !tasks.BeginAccess(op.ordinal)) return FailRecords(op);
  const int64_t offset = (element - resource.origin) / StorageBytes(resource.dtype);
  const AccessKind kind = writes ? AccessKind::kAtomicWrite : AccessKind::kAtomicRead;
  if (!CheckElement(op, resource, offset, kind, reads, writes)) return false;
  const MemoryOrder order = op.attr<AtomicAttr>().order;
  const bool both = order == MemoryOrder::kAcqRel;
  return tasks.Synchronize(element, reads && (both || order == MemoryOrder::kAcquire),
                           writes && (both || order == MemoryOrder::kRelease)) ||
         FailRecords(op);
}

// Chapters 8 and 10: positions of one store that meet. With `values` they may, if they write the
// same.
bool Machine::CheckDistinct(const Op& op, const Resource& resource, const IndexAccess& access,
                            const Mask& mask, const Tensor* values) {
  if (access.IsStrided() && AreInjective(access.shape(), access.strides())) return true;
  struct Destination {
    int64_t offset, position;
  };
  const int64_t bytes = access.count() * static_cast<int64_t>(sizeof(Destination));
  if (access.count() > checked_->budget.limit() / static_cast<int64_t>(sizeof(Destination)) ||
      !checked_->budget.Take(bytes)) {
    return FailRecords(op);
  }
  std::vector<Destination> destinations;
  destinations.reserve(static_cast<size_t>(access.count()));
  access.ForEach([&](int64_t position, int64_t offset, const IndexAccess::Violation* outside) {
    if (mask.At(position) && outside == nullptr) destinations.push_back({offset, position});
    return true;
  });
  std::sort(destinations.begin(), destinations.end(),
            [](const Destination& a, const Destination& b) {
              return a.offset != b.offset ? a.offset < b.offset : a.position < b.position;
            });
  checked_->budget.Give(bytes);
  const int64_t size = StorageBytes(resource.dtype);
  for (size_t i = 1; i < destinations.size(); ++i) {
    const Destination &a = destinations[i - 1], &b = destinations[i];
    if (a.offset != b.offset) continue;
    if (values != nullptr &&
        std::memcmp(values->data() + a.position * size, values->data() + b.position * size,
                    static_cast<size_t>(size)) == 0) {
      continue;
    }
    const bool view_collides = !AreInjective(resource.extents, resource.strides);
    Fail(view_collides ? ErrorKind::kCollidingStrides : ErrorKind::kRepeatedDestination, op,
         "positions " + PlaceText(access.shape(), a.position) + " and " +
             PlaceText(access.shape(), b.position) + " of one store both write " +
             ElementText(resource, a.offset) +
             (values == nullptr ? "" : ", and not the same value"),
         resource.parameter);
    return false;
  }
  return true;
}

// A store: distinct destinations, then the writes themselves.
bool Machine::CheckStore(const Op& op, const Resource& resource, const IndexAccess& access,
                         const Mask& mask, const Tensor* values) {
  return CheckDistinct(op, resource, access, mask, values) &&
         CheckAccess(op, resource, access, mask, AccessKind::kWrite, /*reads=*/false);
}

}  // namespace intent::interp
