// Views, buffers and gathers: every access goes through one index relation. Chapters are those of
// seed 000, with an L language.md's.

#include <algorithm>
#include <cstring>
#include <limits>

#include "compiler/interp/combiner.h"
#include "compiler/interp/law_check.h"
#include "compiler/interp/machine.h"
#include "compiler/interp/mask.h"
#include "compiler/interp/parallel_tasks.h"
#include "compiler/interp/strided.h"
#include "compiler/interp/text.h"
#include "compiler/ir/rmw_kind.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

// Reads only: a tensor's elements stay as they are.
Resource ResourceOf(const Tensor& tensor) {
  return {.dtype = tensor.dtype(),
          .extents = tensor.shape(),
          .strides = DenseStrides(tensor.shape()),
          .origin = const_cast<std::byte*>(tensor.data())};
}

// A stored bool may be any byte; a tensor holds 0 or 1.
void NormalizeBools(Tensor* tensor) {
  if (tensor->dtype() != DType::kBool) return;
  std::byte* data = tensor->mutable_data();
  for (int64_t i = 0; i < tensor->count(); ++i) {
    data[i] = data[i] != std::byte{0} ? std::byte{1} : std::byte{0};
  }
}

}  // namespace

// 10, L 4: one relation for loads, stores, gathers and scatters.
std::optional<IndexAccess> Machine::Access(const Op& op, const IndexAttr& attr,
                                           const Resource& resource, size_t* first) {
  std::vector<IndexAccess::Term> terms;
  int32_t axis = -1;
  for (const IndexTerm& described : attr.terms) {
    IndexAccess::Term term{.kind = described.kind};
    if (described.kind != IndexTermKind::kNewAxis) ++axis;
    switch (described.kind) {
      case IndexTermKind::kFull:
      case IndexTermKind::kNewAxis:
        break;
      case IndexTermKind::kStatic:
        term.position = described.position.value;
        break;
      case IndexTermKind::kValue: {
        const RuntimeValue& value = Get(op, (*first)++);
        if (value.IsScalar()) {
          term.position = numerics::AsInteger(value.scalar());
        } else {
          // A u64 beyond i64 turns negative, hence out of bounds.
          RuntimeValue positions = CastTo(op, value, DType::kI64);
          if (failed()) return std::nullopt;
          term.positions = positions.tensor();
        }
        break;
      }
      case IndexTermKind::kRegion:
        term.range = Get(op, (*first)++).domain().ranges[0];
        break;
      case IndexTermKind::kSlice:
        term.range.begin = GetIndex(op, (*first)++);
        term.range.end = GetIndex(op, (*first)++);
        if (term.range.begin > term.range.end) {
          Fail(ErrorKind::kSubregion, op,
               "a slice stops at " + Text(term.range.end) + " before it starts at " +
                   Text(term.range.begin),
               resource.parameter, axis);
          return std::nullopt;
        }
        break;
    }
    terms.push_back(std::move(term));
  }
  std::string error;
  auto access = IndexAccess::Make(resource, terms, &budget_, &error);
  if (!access) {
    if (error.empty()) {
      Fail(ErrorKind::kMemoryLimit, op, "an index table exceeds the limit for temporaries");
    } else {
      Fail(ErrorKind::kBadShape, op, error);
    }
  }
  return access;
}

// 8: active coordinates are in bounds; nothing is clamped.
void Machine::FailBounds(const Op& op, const Resource& resource,
                         const IndexAccess::Violation& violation) {
  if (failed()) return;
  const std::string owner = resource.parameter >= 0 ? OwnerText(resource) : "a buffer or tensor";
  Fail(ErrorKind::kOutOfBounds, op,
       "index " + Text(violation.position) + " is outside axis " + std::to_string(violation.axis) +
           " of " + owner + ", whose extent is " +
           std::to_string(resource.extents[static_cast<size_t>(violation.axis)]),
       resource.parameter, violation.axis);
  error_->value = static_cast<int64_t>(std::clamp<__int128>(violation.position,
                                                            std::numeric_limits<int64_t>::min(),
                                                            std::numeric_limits<int64_t>::max()));
  error_->limit = resource.extents[static_cast<size_t>(violation.axis)];
}

// 8, 10: members that are not active touch no memory and give the fill.
RuntimeValue Machine::Load(const Op& op, const Resource& resource, size_t first_index) {
  const IndexAttr& attr = op.attr<IndexAttr>();
  size_t next = first_index;
  const std::optional<IndexAccess> access = Access(op, attr, resource, &next);
  if (failed()) return {};
  const Mask mask = attr.has_valid ? Mask(Get(op, next++)) : Mask();
  if (checked_ != nullptr &&
      !CheckAccess(op, resource, *access, mask, AccessKind::kRead, /*reads=*/true)) {
    return {};
  }
  auto result = NewTensor(op, resource.dtype, access->shape());
  if (failed()) return {};
  std::byte* out = result->mutable_data();
  const int64_t size = result->element_bytes();
  const auto violation = access->FindViolation();
  if (mask.IsEverywhere() && violation) {
    FailBounds(op, resource, *violation);
    return {};
  }
  if (mask.IsEverywhere() && access->IsStrided()) {
    if (access->count() > 0) {
      CopyStrided(size, access->shape(), resource.origin + access->base() * size, access->strides(),
                  out, DenseStrides(access->shape()));
    }
  } else {
    const RuntimeValue fill =
        attr.has_fill ? Get(op, next) : RuntimeValue(numerics::MakeZero(resource.dtype));
    access->ForEach([&](int64_t position, int64_t offset, const IndexAccess::Violation* outside) {
      std::byte* target = out + position * size;
      if (!mask.At(position)) {
        if (fill.IsTensor()) {
          std::memcpy(target, fill.tensor().data() + position * size, static_cast<size_t>(size));
        } else {
          numerics::StoreScalar(fill.scalar(), target);
        }
        return true;
      }
      if (outside != nullptr) {
        FailBounds(op, resource, *outside);
        return false;
      }
      std::memcpy(target, resource.origin + offset * size, static_cast<size_t>(size));
      return true;
    });
    if (failed()) return {};
  }
  NormalizeBools(result.get());
  return Shaped(ResultType(op), *result);
}

RuntimeValue Machine::ViewOrBufferLoad(const Op& op) {
  const RuntimeValue source = Get(op, 0);
  return Load(op, source.resource(), 1);
}

RuntimeValue Machine::Gather(const Op& op) {
  const RuntimeValue source = Get(op, 0);
  return Load(op, ResourceOf(source.tensor()), 1);
}

// 10: a copy is a read, then a write: the value was computed before anything is written.
RuntimeValue Machine::Store(const Op& op) {
  const RuntimeValue target = Get(op, 0);
  const Resource& resource = target.resource();
  size_t next = 2;
  const std::optional<IndexAccess> access = Access(op, op.attr<IndexAttr>(), resource, &next);
  if (failed()) return {};
  if (const auto violation = access->FindViolation()) {
    FailBounds(op, resource, *violation);
    return {};
  }
  RuntimeValue value = Get(op, 1);
  if (value.IsScalar() || value.shape() != access->shape()) {
    value = TensorPtr(BroadcastTo(op, value, access->shape()));
    if (failed()) return {};
  }
  const Tensor& source = value.tensor();
  const int64_t size = source.element_bytes();
  if (access->count() == 0) return {};
  if (checked_ != nullptr && !CheckStore(op, resource, *access, Mask(), &source)) return {};
  if (access->IsStrided()) {
    CopyStrided(size, access->shape(), source.data(), DenseStrides(access->shape()),
                resource.origin + access->base() * size, access->strides());
    return {};
  }
  access->ForEach([&](int64_t position, int64_t offset, const IndexAccess::Violation*) {
    std::memcpy(resource.origin + offset * size, source.data() + position * size,
                static_cast<size_t>(size));
    return true;
  });
  return {};
}

// 9: fresh at each execution; without initial contents the author writes before reading.
RuntimeValue Machine::MakeBuffer(const Op& op) {
  const Type& type = ResultType(op);
  const std::optional<Shape> shape = EvaluateShape(op, type);
  if (!shape) return {};
  std::shared_ptr<Tensor> initial;
  if (!op.operands.empty()) {
    initial = BroadcastTo(op, Get(op, 0), *shape);  // a fresh copy
  } else {
    initial = NewTensor(op, type.dtype(), *shape);
  }
  if (failed()) return {};
  Resource resource = ResourceOf(*initial);
  resource.storage = initial->storage();
  if (checked_ != nullptr && !ShadowBuffer(op, !op.operands.empty(), &resource)) return {};
  return resource;
}

// 10: active destinations are distinct.
RuntimeValue Machine::ScatterUnique(const Op& op) {
  const RuntimeValue target = Get(op, 0);
  const Resource& resource = target.resource();
  const IndexAttr& attr = op.attr<IndexAttr>();
  size_t next = 2;
  const std::optional<IndexAccess> access = Access(op, attr, resource, &next);
  if (failed()) return {};
  const Mask mask = attr.has_valid ? Mask(Get(op, next)) : Mask();
  auto value = BroadcastTo(op, Get(op, 1), access->shape());
  if (failed()) return {};
  if (checked_ != nullptr && !CheckStore(op, resource, *access, mask, nullptr)) return {};
  const int64_t size = value->element_bytes();
  access->ForEach([&](int64_t position, int64_t offset, const IndexAccess::Violation* outside) {
    if (!mask.At(position)) return true;
    if (outside != nullptr) {
      FailBounds(op, resource, *outside);
      return false;
    }
    std::memcpy(resource.origin + offset * size, value->data() + position * size,
                static_cast<size_t>(size));
    return true;
  });
  return {};
}

// Pairs of neighbouring active updates, as if they met where the first of them goes.
bool Machine::SampleUpdates(const Op& op, const Resource& resource, const IndexAccess& access,
                            const Mask& mask, const Tensor& value, size_t first_capture) {
  Fields captures;
  for (size_t i = first_capture; i < op.operands.size(); ++i) captures.push_back(Get(op, i));
  int64_t earlier = -1;
  access.ForEach([&](int64_t position, int64_t offset, const IndexAccess::Violation* outside) {
    if (!mask.At(position) || outside != nullptr) return true;
    if (earlier < 0) {
      earlier = position;
      return true;
    }
    if (!laws_->Take(op)) return false;
    const ScalarValue old =
        numerics::LoadScalar(resource.dtype, resource.origin + offset * value.element_bytes());
    const bool agrees =
        laws_->SampleUpdates(op, old, value.At(earlier), value.At(position), captures);
    earlier = -1;
    return agrees;
  });
  return !failed();
}

// 10: updates of one element combine, in the order of positions, which is one of the legal orders.
RuntimeValue Machine::ScatterReduce(const Op& op) {
  const RuntimeValue target = Get(op, 0);
  const Resource& resource = target.resource();
  const ScatterReduceAttr& attr = op.attr<ScatterReduceAttr>();
  size_t next = 2;
  const std::optional<IndexAccess> access = Access(op, attr.index, resource, &next);
  if (failed()) return {};
  const Mask mask = attr.index.has_valid ? Mask(Get(op, next++)) : Mask();
  auto value = BroadcastTo(op, Get(op, 1), access->shape());
  if (failed()) return {};
  if (checked_ != nullptr &&
      !CheckAccess(op, resource, *access, mask, AccessKind::kAtomicWrite, /*reads=*/true)) {
    return {};
  }
  if (laws_ != nullptr && attr.combine == CombineKind::kRegion &&
      !SampleUpdates(op, resource, *access, mask, *value, next)) {
    return {};
  }
  Fields arguments(2);
  for (size_t i = next; i < op.operands.size(); ++i) arguments.push_back(Get(op, i));
  access->ForEach([&](int64_t position, int64_t offset, const IndexAccess::Violation* outside) {
    if (!mask.At(position)) return true;
    if (outside != nullptr) {
      FailBounds(op, resource, *outside);
      return false;
    }
    std::byte* element = resource.origin + offset * value->element_bytes();
    const ScalarValue old = numerics::LoadScalar(resource.dtype, element);
    const ScalarValue update = value->At(position);
    if (attr.combine != CombineKind::kRegion) {
      numerics::StoreScalar(numerics::EvalBinary(BuiltinOf(attr.combine), old, update), element);
      return true;
    }
    arguments[0] = old;
    arguments[1] = update;
    const RuntimeValue combined = CallRegion(*op.regions[0], arguments);
    if (failed()) return false;
    numerics::StoreScalar(combined.scalar(), element);
    return true;
  });
  return {};
}

std::byte* Machine::ElementAddress(const Op& op, const IndexAttr& attr, size_t first_index) {
  const Resource& resource = Get(op, 0).resource();
  const std::optional<IndexAccess> access = Access(op, attr, resource, &first_index);
  if (failed()) return nullptr;
  if (const auto violation = access->FindViolation()) {
    FailBounds(op, resource, *violation);
    return nullptr;
  }
  return resource.origin + access->base() * StorageBytes(resource.dtype);
}

// 11. One thread runs everything, so each order is sequentially consistent here.
RuntimeValue Machine::AtomicLoad(const Op& op) {
  const Resource& resource = Get(op, 0).resource();
  const std::byte* element = ElementAddress(op, op.attr<AtomicAttr>().index, 1);
  if (failed()) return {};
  if (checked_ != nullptr &&
      !CheckAtomic(op, resource, element, /*reads=*/true, /*writes=*/false)) {
    return {};
  }
  return numerics::LoadScalar(resource.dtype, element);
}

RuntimeValue Machine::AtomicStore(const Op& op) {
  std::byte* element = ElementAddress(op, op.attr<AtomicAttr>().index, 2);
  if (failed()) return {};
  if (checked_ != nullptr &&
      !CheckAtomic(op, Get(op, 0).resource(), element, /*reads=*/false, /*writes=*/true)) {
    return {};
  }
  numerics::StoreScalar(Get(op, 1).scalar(), element);
  return {};
}

RuntimeValue Machine::AtomicRmw(const Op& op) {
  const AtomicAttr& attr = op.attr<AtomicAttr>();
  const Resource& resource = Get(op, 0).resource();
  std::byte* element = ElementAddress(op, attr.index, 2);
  if (failed()) return {};
  if (checked_ != nullptr && !CheckAtomic(op, resource, element, /*reads=*/true, /*writes=*/true)) {
    return {};
  }
  const ScalarValue old = numerics::LoadScalar(resource.dtype, element);
  const ScalarValue& operand = Get(op, 1).scalar();
  numerics::StoreScalar(attr.rmw == RmwKind::kExchange
                            ? operand
                            : numerics::EvalBinary(CombineOf(attr.rmw), old, operand),
                        element);
  return old;
}

// 11, L 16: compares bit patterns. A failure only reads, in the order that is left
// of the operation's without its release.
RuntimeValue Machine::AtomicCas(const Op& op) {
  const Resource& resource = Get(op, 0).resource();
  std::byte* element = ElementAddress(op, op.attr<AtomicAttr>().index, 3);
  if (failed()) return {};
  const ScalarValue old = numerics::LoadScalar(resource.dtype, element);
  const bool success = old == Get(op, 1).scalar();
  if (checked_ != nullptr && !CheckAtomic(op, resource, element, /*reads=*/true, success)) {
    return {};
  }
  if (success) numerics::StoreScalar(Get(op, 2).scalar(), element);
  return RuntimeValue::Product({old, numerics::MakeBool(success)});
}

}  // namespace intent::interp
