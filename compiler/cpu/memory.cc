#include "compiler/cpu/memory.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <functional>

namespace intent::cpu {
namespace {

llvm::Align ElementAlign(DType dtype) {
  return llvm::Align(static_cast<uint64_t>(StorageBytes(dtype)));
}

llvm::Type* MemoryLanes(const Lanes& l, DType dtype, int lanes) {
  llvm::Type* element = l.Memory(dtype);
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

V FromMemory(const Lanes& l, DType dtype, V stored) {
  if (dtype == DType::kBool) return l.b.CreateICmpNE(stored, l.I(stored, 0));
  llvm::Type* type = l.Register(dtype, Lanes::Count(stored));
  return stored->getType() == type ? stored : l.b.CreateTrunc(stored, type);
}

V ToMemory(const Lanes& l, DType dtype, V value) {
  llvm::Type* type = MemoryLanes(l, dtype, Lanes::Count(value));
  return value->getType() == type ? value : l.b.CreateZExt(value, type);
}

V Zero(const Lanes& l, DType dtype, int lanes) {
  return llvm::Constant::getNullValue(MemoryLanes(l, dtype, lanes));
}

V Element(const Lanes& l, DType dtype, V base, V offset) {
  return l.b.CreateGEP(l.Memory(dtype), base, offset);
}

V Iota(const Lanes& l, int lanes) {
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(l.b.getInt64(static_cast<uint64_t>(i)));
  return llvm::ConstantVector::get(numbers);
}

// Whether the target masks vector accesses of this dtype in hardware; elsewhere LLVM would branch
// around every lane.
bool MasksInHardware(const Lanes& l, DType dtype) {
  if (l.facts.avx512) return StorageBytes(dtype) <= 8;
  return l.facts.vector_bits == 256 && StorageBytes(dtype) >= 4 && StorageBytes(dtype) <= 8;
}
bool GathersInHardware(const Lanes& l, DType dtype) {
  return l.facts.avx512 && (StorageBytes(dtype) == 4 || StorageBytes(dtype) == 8);
}

// Runs `then` where the condition holds and `otherwise` where not; both may be empty.
void Branch(const Lanes& l, V condition, const std::function<void()>& then,
            const std::function<void()>& otherwise) {
  llvm::IRBuilderBase& b = l.b;
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* yes = llvm::BasicBlock::Create(b.getContext(), "", function);
  auto* no = llvm::BasicBlock::Create(b.getContext(), "", function);
  auto* join = llvm::BasicBlock::Create(b.getContext(), "", function);
  b.CreateCondBr(condition, yes, no);
  b.SetInsertPoint(yes);
  then();
  b.CreateBr(join);
  b.SetInsertPoint(no);
  otherwise();
  b.CreateBr(join);
  b.SetInsertPoint(join);
}

// for (i = 0; i < lanes; ++i) if (mask bytes[i]) body(i)
void ForActiveLanes(const Lanes& l, int lanes, V mask, const std::function<void(V)>& body) {
  llvm::IRBuilderBase& b = l.b;
  llvm::Type* bytes = llvm::FixedVectorType::get(b.getInt8Ty(), static_cast<unsigned>(lanes));
  V slot = l.OpenSlot(bytes, 64);
  b.CreateStore(b.CreateZExt(mask, bytes), slot);
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* head = llvm::BasicBlock::Create(b.getContext(), "lane", function);
  auto* active = llvm::BasicBlock::Create(b.getContext(), "lane.active", function);
  auto* next = llvm::BasicBlock::Create(b.getContext(), "lane.next", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "lane.done", function);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* lane = b.CreatePHI(b.getInt64Ty(), 2);
  lane->addIncoming(b.getInt64(0), before);
  V flag = b.CreateLoad(b.getInt8Ty(), b.CreateGEP(b.getInt8Ty(), slot, lane));
  b.CreateCondBr(b.CreateICmpNE(flag, b.getInt8(0)), active, next);
  b.SetInsertPoint(active);
  body(lane);
  b.CreateBr(next);
  b.SetInsertPoint(next);
  V following = b.CreateAdd(lane, b.getInt64(1));
  lane->addIncoming(following, next);
  b.CreateCondBr(b.CreateICmpULT(following, b.getInt64(static_cast<uint64_t>(lanes))), head, done);
  b.SetInsertPoint(done);
  l.CloseSlot(slot);
}

// What an inactive scalar load reads: zeros of ours.
V Zeros(const Lanes& l) {
  llvm::Type* type = llvm::ArrayType::get(l.b.getInt64Ty(), 2);
  llvm::GlobalVariable* zeros = l.module.getGlobalVariable("intent.zeros", true);
  if (zeros == nullptr) {
    zeros = new llvm::GlobalVariable(l.module, type, true, llvm::GlobalValue::InternalLinkage,
                                     llvm::Constant::getNullValue(type), "intent.zeros");
    zeros->setAlignment(llvm::Align(16));
  }
  return zeros;
}

// The fallback of masked vector access: full vectors at full speed, others lane by lane. `address`
// gives the element of a lane, counted as i64.
V LoadByLanes(const Lanes& l, DType dtype, V mask, V fill, const std::function<V(V)>& address,
              const std::function<V()>& full) {
  llvm::Type* type = fill->getType();
  V slot = l.OpenSlot(type, 64);
  Branch(
      l, l.b.CreateAndReduce(mask), [&] { l.b.CreateStore(full(), slot); },
      [&] {
        l.b.CreateStore(fill, slot);
        ForActiveLanes(l, Lanes::Count(mask), mask, [&](V lane) {
          V value = l.b.CreateAlignedLoad(l.Memory(dtype), address(lane), ElementAlign(dtype));
          l.b.CreateStore(value, Element(l, dtype, slot, lane));
        });
      });
  V loaded = l.b.CreateLoad(type, slot);
  l.CloseSlot(slot);
  return loaded;
}

void StoreByLanes(const Lanes& l, DType dtype, V mask, V stored, const std::function<V(V)>& address,
                  const std::function<void()>& full) {
  Branch(l, l.b.CreateAndReduce(mask), full, [&] {
    V slot = l.OpenSlot(stored->getType(), 64);
    l.b.CreateStore(stored, slot);
    ForActiveLanes(l, Lanes::Count(mask), mask, [&](V lane) {
      V value = l.b.CreateLoad(l.Memory(dtype), Element(l, dtype, slot, lane));
      l.b.CreateAlignedStore(value, address(lane), ElementAlign(dtype));
    });
    l.CloseSlot(slot);
  });
}

V Reverse(const Lanes& l, V value) {
  if (value == nullptr || Lanes::Count(value) == 1) return value;
  std::vector<int> order;
  for (int i = Lanes::Count(value) - 1; i >= 0; --i) order.push_back(i);
  return l.b.CreateShuffleVector(value, order);
}

V LoadContiguous(const Lanes& l, DType dtype, V address, int lanes, V mask, V fill) {
  llvm::Type* type = MemoryLanes(l, dtype, lanes);
  const auto full = [&] { return l.b.CreateAlignedLoad(type, address, ElementAlign(dtype)); };
  if (mask == nullptr) return full();
  if (MasksInHardware(l, dtype)) {
    return l.b.CreateMaskedLoad(type, address, ElementAlign(dtype), mask, fill);
  }
  return LoadByLanes(
      l, dtype, mask, fill, [&](V lane) { return Element(l, dtype, address, lane); }, full);
}

void StoreContiguous(const Lanes& l, DType dtype, V address, V stored, V mask) {
  const auto full = [&] { l.b.CreateAlignedStore(stored, address, ElementAlign(dtype)); };
  if (mask == nullptr) return full();
  if (MasksInHardware(l, dtype)) {
    l.b.CreateMaskedStore(stored, address, ElementAlign(dtype), mask);
    return;
  }
  StoreByLanes(
      l, dtype, mask, stored, [&](V lane) { return Element(l, dtype, address, lane); }, full);
}

V StridedOffsets(const Lanes& l, const StridedAccess& a) {
  V stride = a.dynamic_stride != nullptr ? a.dynamic_stride
                                         : l.b.getInt64(static_cast<uint64_t>(a.stride));
  return l.b.CreateAdd(l.Splat(a.offset, a.lanes),
                       l.b.CreateMul(l.Splat(stride, a.lanes), Iota(l, a.lanes)));
}

// The first lane's address of a reversed access.
V LastAddress(const Lanes& l, const StridedAccess& a) {
  return Element(l, a.dtype, a.base,
                 l.b.CreateSub(a.offset, l.b.getInt64(static_cast<uint64_t>(a.lanes - 1))));
}

V GatherStored(const Lanes& l, DType dtype, V base, V offsets, V mask, V fill) {
  const int lanes = Lanes::Count(offsets);
  llvm::Type* type = MemoryLanes(l, dtype, lanes);
  const auto each = [&]() -> V {
    V result = llvm::PoisonValue::get(type);
    for (int i = 0; i < lanes; ++i) {
      V offset = l.b.CreateExtractElement(offsets, static_cast<uint64_t>(i));
      V value = l.b.CreateAlignedLoad(l.Memory(dtype), Element(l, dtype, base, offset),
                                      ElementAlign(dtype));
      result = l.b.CreateInsertElement(result, value, static_cast<uint64_t>(i));
    }
    return result;
  };
  if (GathersInHardware(l, dtype)) {
    return l.b.CreateMaskedGather(type, Element(l, dtype, base, offsets), ElementAlign(dtype), mask,
                                  fill);
  }
  if (mask == nullptr) return each();
  V slot = l.OpenSlot(offsets->getType(), 64);
  l.b.CreateStore(offsets, slot);
  const auto address = [&](V lane) {
    V offset = l.b.CreateLoad(l.b.getInt64Ty(), l.b.CreateGEP(l.b.getInt64Ty(), slot, lane));
    return Element(l, dtype, base, offset);
  };
  V loaded = LoadByLanes(l, dtype, mask, fill, address, each);
  l.CloseSlot(slot);
  return loaded;
}

}  // namespace

V LoadStrided(const Lanes& l, const StridedAccess& a, V fill) {
  llvm::IRBuilderBase& b = l.b;
  if (a.lanes == 1 || (a.dynamic_stride == nullptr && a.stride == 0)) {
    // One element serves every lane.
    V address = Element(l, a.dtype, a.base, a.offset);
    V any = a.mask == nullptr ? nullptr : l.Any(a.mask);
    if (any != nullptr) address = l.Select(any, address, Zeros(l));
    V stored = b.CreateAlignedLoad(l.Memory(a.dtype), address, ElementAlign(a.dtype));
    V value = l.Splat(FromMemory(l, a.dtype, stored), a.lanes);
    if (a.mask == nullptr) return value;
    if (fill == nullptr) fill = llvm::Constant::getNullValue(value->getType());
    return l.Select(a.mask, value, fill);
  }
  V padding = fill == nullptr ? Zero(l, a.dtype, a.lanes) : ToMemory(l, a.dtype, fill);
  V stored;
  if (a.dynamic_stride == nullptr && a.stride == 1) {
    stored =
        LoadContiguous(l, a.dtype, Element(l, a.dtype, a.base, a.offset), a.lanes, a.mask, padding);
  } else if (a.dynamic_stride == nullptr && a.stride == -1) {
    stored = Reverse(l, LoadContiguous(l, a.dtype, LastAddress(l, a), a.lanes, Reverse(l, a.mask),
                                       Reverse(l, padding)));
  } else {
    stored = GatherStored(l, a.dtype, a.base, StridedOffsets(l, a), a.mask, padding);
  }
  return FromMemory(l, a.dtype, stored);
}

void StoreStrided(const Lanes& l, const StridedAccess& a, V value) {
  llvm::IRBuilderBase& b = l.b;
  if (a.lanes == 1) {
    V address = Element(l, a.dtype, a.base, a.offset);
    V nowhere = a.mask == nullptr ? nullptr : l.OpenSlot(l.Memory(a.dtype), 16);
    if (a.mask != nullptr) address = l.Select(a.mask, address, nowhere);
    b.CreateAlignedStore(ToMemory(l, a.dtype, value), address, ElementAlign(a.dtype));
    if (a.mask != nullptr) l.CloseSlot(nowhere);
  } else if (a.dynamic_stride == nullptr && a.stride == 1) {
    StoreContiguous(l, a.dtype, Element(l, a.dtype, a.base, a.offset), ToMemory(l, a.dtype, value),
                    a.mask);
  } else if (a.dynamic_stride == nullptr && a.stride == -1) {
    StoreContiguous(l, a.dtype, LastAddress(l, a), Reverse(l, ToMemory(l, a.dtype, value)),
                    Reverse(l, a.mask));
  } else {
    Scatter(l, a.dtype, a.base, StridedOffsets(l, a), value, a.mask);
  }
}

V Gather(const Lanes& l, DType dtype, V base, V offsets, V mask, V fill) {
  const int lanes = Lanes::Count(offsets);
  if (lanes == 1) return LoadStrided(l, {dtype, 1, base, offsets, 1, nullptr, mask}, fill);
  V padding = fill == nullptr ? Zero(l, dtype, lanes) : ToMemory(l, dtype, fill);
  return FromMemory(l, dtype, GatherStored(l, dtype, base, offsets, mask, padding));
}

void Scatter(const Lanes& l, DType dtype, V base, V offsets, V value, V mask) {
  const int lanes = Lanes::Count(offsets);
  if (lanes == 1) return StoreStrided(l, {dtype, 1, base, offsets, 1, nullptr, mask}, value);
  V stored = ToMemory(l, dtype, value);
  if (GathersInHardware(l, dtype)) {
    l.b.CreateMaskedScatter(stored, Element(l, dtype, base, offsets), ElementAlign(dtype), mask);
    return;
  }
  const auto each = [&] {
    for (int i = 0; i < lanes; ++i) {
      V offset = l.b.CreateExtractElement(offsets, static_cast<uint64_t>(i));
      l.b.CreateAlignedStore(l.b.CreateExtractElement(stored, static_cast<uint64_t>(i)),
                             Element(l, dtype, base, offset), ElementAlign(dtype));
    }
  };
  if (mask == nullptr) return each();
  V slot = l.OpenSlot(offsets->getType(), 64);
  l.b.CreateStore(offsets, slot);
  const auto address = [&](V lane) {
    V offset = l.b.CreateLoad(l.b.getInt64Ty(), l.b.CreateGEP(l.b.getInt64Ty(), slot, lane));
    return Element(l, dtype, base, offset);
  };
  StoreByLanes(l, dtype, mask, stored, address, each);
  l.CloseSlot(slot);
}

}  // namespace intent::cpu
