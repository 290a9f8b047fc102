#include "compiler/tile/tile_interp.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "compiler/diag/check.h"
#include "compiler/ir/rmw_kind.h"
#include "compiler/numerics/scalar.h"

namespace intent::tile {
namespace {

using numerics::AsBool;
using numerics::AsIndex;
using numerics::MakeBool;
using numerics::MakeIndex;

// A scalar, a tile or a reference.
struct Value {
  std::vector<ScalarValue> lanes;
  char* memory = nullptr;
};

// Scratch of one body's iteration.
using Scratch = std::vector<std::unique_ptr<char[]>>;

constexpr int64_t kScratchLimit = int64_t{1} << 32;  // bytes of one allocation

BinaryKind BinaryOf(CombineKind kind) {
  switch (kind) {
    case CombineKind::kAdd:
      return BinaryKind::kAdd;
    case CombineKind::kMaximum:
      return BinaryKind::kMaximum;
    case CombineKind::kMinimum:
      return BinaryKind::kMinimum;
    case CombineKind::kAnd:
      return BinaryKind::kAnd;
    case CombineKind::kOr:
      return BinaryKind::kOr;
    case CombineKind::kRegion:
    case CombineKind::kArgMax:
      break;
  }
  INTENT_UNREACHABLE() << "combine of lanes";
  return BinaryKind::kAdd;
}

class Interpreter {
 public:
  Interpreter(const Program& program, const intent_call* call, InterpObserver* observer)
      : program_(program), call_(call), observer_(observer), values_(program.value_count()) {}

  int32_t Run() {
    Scratch scratch;
    RunBlock(program_.body, &scratch);
    return status_;
  }

 private:
  bool Running() const { return status_ == INTENT_OK; }
  const Value& In(const Op& op, size_t i) const { return values_[op.operands[i]]; }
  int64_t IndexIn(const Op& op, size_t i) const { return AsIndex(In(op, i).lanes[0]); }
  bool BoolIn(const Op& op, size_t i) const { return AsBool(In(op, i).lanes[0]); }
  const Type& TypeOut(const Op& op) const { return program_.type(op.results[0]); }
  void Set(const Op& op, ScalarValue value) { values_[op.results[0]].lanes = {value}; }
  void SetMemory(const Op& op, char* memory) { values_[op.results[0]].memory = memory; }

  template <typename Rule>
  void SetLanes(const Op& op, Rule rule) {
    std::vector<ScalarValue> lanes;
    for (int32_t lane = 0; lane < TypeOut(op).lanes; ++lane) {
      lanes.push_back(rule(static_cast<size_t>(lane)));
    }
    values_[op.results[0]].lanes = std::move(lanes);
  }

  void Fail(const Op& op, int32_t status, int32_t parameter, int32_t axis, int64_t value,
            int64_t limit) {
    status_ = status;
    intent_error* error = call_->error;
    if (error == nullptr || error->status != INTENT_OK) return;
    *error = {status, op.ordinal, parameter, axis, value, limit};
  }

  const intent_view& View(int64_t index) const { return call_->views[index]; }

  void RunBlock(const Block& block, Scratch* scratch) {
    for (const Op* op : block.ops) {
      if (!Running()) return;
      if (observer_ != nullptr) observer_->Reach(*op);
      RunOp(*op, scratch);
    }
  }

  // Runs a body with its own scratch; the values it yields.
  std::vector<Value> RunBody(const Block& block, const std::vector<Value>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) values_[block.arguments[i]] = arguments[i];
    Scratch scratch;
    RunBlock(block, &scratch);
    std::vector<Value> yields;
    if (!Running()) return yields;
    for (Id id : block.ops.back()->operands) yields.push_back(values_[id]);
    return yields;
  }

  static Value IndexValue(int64_t index) { return {{MakeIndex(index)}, nullptr}; }

  // Results keep what they carried, whatever number of iterations ran.
  void SetResults(const Op& op, const std::vector<Value>& carries) {
    for (size_t i = 0; i < op.results.size() && i < carries.size(); ++i) {
      values_[op.results[i]] = carries[i];
    }
  }

  void EndIteration(const Op& op) {
    if (observer_ != nullptr) observer_->EndIteration(op);
  }
  void BeginTask(const Op& op) {
    if (observer_ != nullptr) observer_->BeginTask(op);
  }

  void RunFor(const Op& op) {
    const int64_t lo = IndexIn(op, 0), hi = IndexIn(op, 1), step = IndexIn(op, 2);
    std::vector<Value> carries;
    for (size_t i = 3; i < op.operands.size(); ++i) carries.push_back(In(op, i));
    for (__int128 iv = lo; iv < hi && Running(); iv += step) {
      std::vector<Value> arguments = {IndexValue(static_cast<int64_t>(iv))};
      arguments.insert(arguments.end(), carries.begin(), carries.end());
      carries = RunBody(*op.regions[0], arguments);
      EndIteration(op);
    }
    SetResults(op, carries);
  }

  // What an arm allocates lives on behind it.
  void RunIf(const Op& op, Scratch* scratch) {
    const Block& arm = *op.regions[BoolIn(op, 0) ? 0 : 1];
    RunBlock(arm, scratch);
    if (!Running()) return;
    for (size_t i = 0; i < op.results.size(); ++i) {
      values_[op.results[i]] = values_[arm.ops.back()->operands[i]];
    }
  }

  void RunWhile(const Op& op) {
    std::vector<Value> carries;
    for (size_t i = 0; i < op.operands.size(); ++i) carries.push_back(In(op, i));
    while (Running()) {
      const std::vector<Value> condition = RunBody(*op.regions[0], carries);
      if (!Running() || !AsBool(condition[0].lanes[0])) break;
      carries = RunBody(*op.regions[1], carries);
      EndIteration(op);
    }
    EndIteration(op);
    SetResults(op, carries);
  }

  void RunParallel(const Op& op) {
    const int64_t lo = IndexIn(op, 0), hi = IndexIn(op, 1);
    const int64_t grain = std::max<int64_t>(IndexIn(op, 2), 1);
    for (__int128 begin = lo; begin < hi && Running(); begin += grain) {
      const __int128 end = std::min<__int128>(begin + grain, hi);
      BeginTask(op);
      RunBody(*op.regions[0],
              {IndexValue(static_cast<int64_t>(begin)), IndexValue(static_cast<int64_t>(end))});
    }
    if (observer_ != nullptr) observer_->Joined(op);
  }

  // Runs of members first, then runs of runs: long sums stay within the language's bound.
  ScalarValue SumOfProducts(const ScalarValue* left, const ScalarValue* right, int64_t depth,
                            DType dtype) const {
    constexpr int64_t kRun = 64;
    ScalarValue sum = numerics::MakeZero(dtype);
    if (depth > kRun) {
      const int64_t half = (depth / 2 + kRun - 1) / kRun * kRun;
      return numerics::EvalBinary(BinaryKind::kAdd, SumOfProducts(left, right, half, dtype),
                                  SumOfProducts(left + half, right + half, depth - half, dtype));
    }
    for (int64_t i = 0; i < depth; ++i) {
      sum = IsFloat(dtype)
                ? MultiplyAdd(left[i], right[i], sum)
                : numerics::EvalBinary(BinaryKind::kAdd, sum,
                                       numerics::EvalBinary(BinaryKind::kMul, left[i], right[i]));
    }
    return sum;
  }

  void RunContract(const Op& op) {
    const int64_t points = IndexIn(op, 0), depth = IndexIn(op, 3);
    const int64_t extents[2] = {IndexIn(op, 1), IndexIn(op, 2)};
    constexpr int64_t kMostElements = int64_t{1} << 26;  // of a side, held at once
    for (int64_t extent : extents) {
      if (points > 0 && extent > kMostElements / std::max<int64_t>(depth, 1)) {
        return Fail(op, INTENT_NO_MEMORY, -1, -1, extent, 0);
      }
    }
    const DType dtype = program_.type(op.regions[2]->arguments[3]).dtype;
    for (int64_t point = 0; point < points && Running(); ++point) {
      std::vector<ScalarValue> sides[2];
      for (size_t side = 0; side < 2; ++side) {
        for (int64_t own = 0; own < extents[side]; ++own) {
          for (int64_t member = 0; member < depth; ++member) {
            BeginTask(op);
            const std::vector<Value> element = RunBody(
                *op.regions[side], {IndexValue(point), IndexValue(own), IndexValue(member)});
            sides[side].push_back(numerics::EvalCast(element[0].lanes[0], dtype));
          }
        }
      }
      for (int64_t row = 0; row < extents[0]; ++row) {
        for (int64_t column = 0; column < extents[1]; ++column) {
          const ScalarValue sum = SumOfProducts(sides[0].data() + row * depth,
                                                sides[1].data() + column * depth, depth, dtype);
          BeginTask(op);
          RunBody(*op.regions[2],
                  {IndexValue(point), IndexValue(row), IndexValue(column), {{sum}, nullptr}});
        }
      }
    }
    if (observer_ != nullptr) observer_->Joined(op);
  }

  char* Allocate(const Op& op, int64_t count, Scratch* scratch) {
    const int64_t size = StorageBytes(TypeOut(op).dtype);
    if (count < 0 || count > kScratchLimit / size) {
      Fail(op, INTENT_NO_MEMORY, -1, -1, count, 0);
      return nullptr;
    }
    constexpr int64_t kAlign = 64;
    const size_t bytes = static_cast<size_t>(count * size + kAlign);
    scratch->push_back(std::make_unique<char[]>(bytes));
    char* memory = scratch->back().get();
    const auto address = reinterpret_cast<uintptr_t>(memory);
    memory += (kAlign - address % kAlign) % kAlign;
    if (observer_ != nullptr) observer_->Allocate(op, memory, count * size);
    return memory;
  }

  void Access(const Op& op, size_t lane, size_t lanes, const char* address, DType dtype) {
    if (observer_ == nullptr) return;
    observer_->Access(op, static_cast<int32_t>(lane), static_cast<int32_t>(lanes), address,
                      StorageBytes(dtype));
  }

  // mem, offset(s), value?, stride?, mask?, fill?
  void RunAccess(const Op& op) {
    const bool stores = op.kind == OpKind::kStore || op.kind == OpKind::kScatter;
    const bool indexed = op.kind == OpKind::kGather || op.kind == OpKind::kScatter;
    size_t next = 2;
    const Value* value = stores ? &In(op, next++) : nullptr;
    const int64_t stride = op.has_stride ? IndexIn(op, next++) : op.index;
    const Value* mask = op.has_mask ? &In(op, next++) : nullptr;
    const Value* fill = op.has_fill ? &In(op, next++) : nullptr;
    const DType dtype = program_.type(op.operands[0]).dtype;
    const size_t lanes = stores ? value->lanes.size() : static_cast<size_t>(TypeOut(op).lanes);
    std::vector<ScalarValue> loaded;
    for (size_t lane = 0; lane < lanes; ++lane) {
      const bool active = mask == nullptr || AsBool(mask->lanes[lane]);
      char* address = nullptr;
      if (active) {
        const int64_t offset = indexed ? AsIndex(In(op, 1).lanes[lane])
                                       : IndexIn(op, 1) + static_cast<int64_t>(lane) * stride;
        address = In(op, 0).memory + offset * StorageBytes(dtype);
      }
      if (stores) {
        if (active) numerics::StoreScalar(value->lanes[lane], address);
      } else if (active) {
        loaded.push_back(numerics::LoadScalar(dtype, address));
      } else {
        loaded.push_back(fill != nullptr ? fill->lanes[lane] : numerics::MakeZero(dtype));
      }
      if (active) Access(op, lane, lanes, address, dtype);
    }
    if (!stores) values_[op.results[0]].lanes = std::move(loaded);
  }

  // One thread runs everything, so each order is sequentially consistent here.
  void RunAtomic(const Op& op) {
    const DType dtype = program_.type(op.operands[0]).dtype;
    char* address = In(op, 0).memory + IndexIn(op, 1) * StorageBytes(dtype);
    Access(op, 0, 1, address, dtype);
    const ScalarValue old = numerics::LoadScalar(dtype, address);
    if (op.kind == OpKind::kAtomicLoad) return Set(op, old);
    const ScalarValue operand = In(op, 2).lanes[0];
    if (op.kind == OpKind::kAtomicStore) return numerics::StoreScalar(operand, address);
    if (op.kind == OpKind::kAtomicRmw) {
      numerics::StoreScalar(op.rmw == RmwKind::kExchange
                                ? operand
                                : numerics::EvalBinary(CombineOf(op.rmw), old, operand),
                            address);
      return Set(op, old);
    }
    const bool success = old == operand;
    if (success) numerics::StoreScalar(In(op, 3).lanes[0], address);
    Set(op, old);
    values_[op.results[1]].lanes = {MakeBool(success)};
  }

  bool Overlap(const Op& op) const {
    const auto range = [](const intent_view& view) {
      const auto data = reinterpret_cast<uintptr_t>(view.data);
      return std::pair(data + static_cast<uintptr_t>(view.low),
                       data + static_cast<uintptr_t>(view.high));
    };
    const auto [low, high] = range(View(op.index));
    const auto [other_low, other_high] = range(View(op.axis));
    return low < high && other_low < other_high && low < other_high && other_low < high;
  }

  bool SameView(const Op& op) const {
    const ViewParameter& one = program_.views[static_cast<size_t>(op.index)];
    const ViewParameter& other = program_.views[static_cast<size_t>(op.axis)];
    const intent_view &a = View(op.index), &b = View(op.axis);
    if (one.rank != other.rank || StorageBytes(one.dtype) != StorageBytes(other.dtype))
      return false;
    bool same = a.data == b.data;
    for (int axis = 0; axis < one.rank; ++axis) {
      same = same && a.extents[axis] == b.extents[axis] &&
             (a.extents[axis] <= 1 || a.strides[axis] == b.strides[axis]);
    }
    return same;
  }

  static ScalarValue MultiplyAdd(const ScalarValue& a, const ScalarValue& b, const ScalarValue& c) {
    const double x = numerics::AsDouble(a), y = numerics::AsDouble(b), z = numerics::AsDouble(c);
    if (a.dtype == DType::kF64) return numerics::MakeFloat(DType::kF64, std::fma(x, y, z));
    return numerics::MakeFloat(
        DType::kF32, std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)));
  }

  ScalarValue ReduceLanes(const Op& op) const {
    std::vector<ScalarValue> lanes = In(op, 0).lanes;
    while (lanes.size() > 1) {
      const size_t half = (lanes.size() + 1) / 2;
      for (size_t i = 0; half + i < lanes.size(); ++i) {
        lanes[i] = numerics::EvalBinary(BinaryOf(op.combine), lanes[i], lanes[half + i]);
      }
      lanes.resize(half);
    }
    return lanes[0];
  }

  void RunSelect(const Op& op) {
    const Value& condition = In(op, 0);
    if (TypeOut(op).IsMem()) {
      return SetMemory(op, In(op, AsBool(condition.lanes[0]) ? 1 : 2).memory);
    }
    SetLanes(op, [&](size_t i) {
      const bool first = AsBool(condition.lanes[condition.lanes.size() == 1 ? 0 : i]);
      return In(op, first ? 1 : 2).lanes[i];
    });
  }

  void RunOp(const Op& op, Scratch* scratch) {
    const numerics::Approximation mode{op.approximate, op.flush_to_zero};
    switch (op.kind) {
      case OpKind::kConst:
        return SetLanes(op, [&](size_t) { return op.constant; });
      case OpKind::kViewBase:
        return SetMemory(op, static_cast<char*>(View(op.index).data));
      case OpKind::kViewExtent:
        return Set(op, MakeIndex(View(op.index).extents[op.axis]));
      case OpKind::kViewStride:
        return Set(op, MakeIndex(View(op.index).strides[op.axis]));
      case OpKind::kScalarArg:
        return Set(op, numerics::LoadScalar(TypeOut(op).dtype, &call_->scalars[op.index]));
      case OpKind::kOverlap:
        return Set(op, MakeBool(Overlap(op)));
      case OpKind::kSameView:
        return Set(op, MakeBool(SameView(op)));
      case OpKind::kAlloc:
        return SetMemory(op, Allocate(op, IndexIn(op, 0), scratch));
      case OpKind::kStackAlloc: {
        char*& slot = slots_[&op];
        if (slot == nullptr) slot = Allocate(op, op.index, &stack_);
        return SetMemory(op, slot);
      }
      case OpKind::kMemOffset:
        return SetMemory(op, In(op, 0).memory + IndexIn(op, 1) * StorageBytes(TypeOut(op).dtype));
      case OpKind::kMemCast:
        return SetMemory(op, In(op, 0).memory);
      case OpKind::kLoad:
      case OpKind::kStore:
      case OpKind::kGather:
      case OpKind::kScatter:
        return RunAccess(op);
      case OpKind::kAtomicLoad:
      case OpKind::kAtomicStore:
      case OpKind::kAtomicRmw:
      case OpKind::kAtomicCas:
        return RunAtomic(op);
      case OpKind::kSplat:
      case OpKind::kBounded:
        return SetLanes(op, [&](size_t) { return In(op, 0).lanes[0]; });
      case OpKind::kIota:
        return SetLanes(op, [&](size_t i) { return MakeIndex(static_cast<int64_t>(i)); });
      case OpKind::kUnary:
        return SetLanes(
            op, [&](size_t i) { return numerics::EvalUnary(op.unary, In(op, 0).lanes[i], mode); });
      case OpKind::kBinary:
        return SetLanes(op, [&](size_t i) {
          return numerics::EvalBinary(op.binary, In(op, 0).lanes[i], In(op, 1).lanes[i], mode);
        });
      case OpKind::kCompare:
        return SetLanes(op, [&](size_t i) {
          return MakeBool(
              numerics::EvalCompare(op.compare, In(op, 0).lanes[i], In(op, 1).lanes[i]));
        });
      case OpKind::kFma:
        return SetLanes(op, [&](size_t i) {
          return MultiplyAdd(In(op, 0).lanes[i], In(op, 1).lanes[i], In(op, 2).lanes[i]);
        });
      case OpKind::kSelect:
        return RunSelect(op);
      case OpKind::kCast:
        return SetLanes(op, [&](size_t i) {
          return numerics::EvalCast(In(op, 0).lanes[i], TypeOut(op).dtype);
        });
      case OpKind::kSaturatingCast:
        return SetLanes(op, [&](size_t i) {
          return numerics::EvalSaturatingCast(In(op, 0).lanes[i], TypeOut(op).dtype);
        });
      case OpKind::kBitcast:
        return SetLanes(op, [&](size_t i) {
          return *numerics::EvalBitcast(In(op, 0).lanes[i], TypeOut(op).dtype);
        });
      case OpKind::kShuffle:
        return SetLanes(
            op, [&](size_t i) { return In(op, 0).lanes[static_cast<size_t>(op.lanes[i])]; });
      case OpKind::kExtractLane:
        return Set(op, In(op, 0).lanes[static_cast<size_t>(op.index)]);
      case OpKind::kReduceLanes:
        return Set(op, ReduceLanes(op));
      case OpKind::kFor:
        return RunFor(op);
      case OpKind::kWhile:
        return RunWhile(op);
      case OpKind::kIf:
        return RunIf(op, scratch);
      case OpKind::kParallel:
        return RunParallel(op);
      case OpKind::kContract:
        return RunContract(op);
      case OpKind::kYield:
      case OpKind::kFence:
        return;
      case OpKind::kGuard:
        if (!BoolIn(op, 0)) {
          Fail(op, op.status, static_cast<int32_t>(op.index), op.axis, IndexIn(op, 1),
               IndexIn(op, 2));
        }
        return;
      case OpKind::kPoll:
        if (call_->cancel != nullptr && *call_->cancel != 0) {
          Fail(op, INTENT_CANCELLED, -1, -1, 0, 0);
        }
        return;
    }
  }

  const Program& program_;
  const intent_call* call_;
  InterpObserver* observer_;
  std::vector<Value> values_;
  Scratch stack_;  // stack slots live as long as the call, one for each operation
  std::unordered_map<const Op*, char*> slots_;
  int32_t status_ = INTENT_OK;
};

}  // namespace

int32_t Interpret(const Program& program, const intent_call* call, InterpObserver* observer) {
  return Interpreter(program, call, observer).Run();
}

}  // namespace intent::tile
