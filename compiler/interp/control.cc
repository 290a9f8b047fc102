// Control: blocks, branches, loops and calls (language.md chapter 11).

#include "compiler/interp/checked_run.h"
#include "compiler/interp/machine.h"
#include "compiler/numerics/scalar.h"

namespace intent::interp {
namespace {

// Regions and calls one inside the other. A level needs two to six kilobytes of stack.
constexpr int kMaxDepth = 600;

class DepthGuard {
 public:
  explicit DepthGuard(int* depth) : depth_(depth) { ++*depth_; }
  ~DepthGuard() { --*depth_; }

 private:
  int* depth_;
};

}  // namespace

const Op* Machine::RunBlock(const Block& block) {
  const DepthGuard guard(&depth_);
  if (depth_ > kMaxDepth) {
    Fail(ErrorKind::kDepthLimit, *block.ops.front(),
         "regions and calls are nested deeper than " + std::to_string(kMaxDepth));
    return nullptr;
  }
  for (const Op* op : block.ops) {
    ++steps_;
    if (Interrupted(*op)) return nullptr;
    if (op->kind == OpKind::kYield || op->kind == OpKind::kReturn) return op;
    RuntimeValue result = Execute(*op);
    if (failed()) return nullptr;
    if (checked_ != nullptr && !CheckShapes(*op, ResultType(*op), result)) return nullptr;
    frame_->values[op->result] = std::move(result);
    for (ValueId dead : frame_->released[op->result]) frame_->values[dead] = {};
  }
  INTENT_UNREACHABLE() << "a block without terminator";
  return nullptr;
}

void Machine::SetArguments(const Block& block, size_t first, std::span<const RuntimeValue> values) {
  INTENT_CHECK(block.arguments.size() >= first + values.size()) << "arguments of a region";
  for (size_t i = 0; i < values.size(); ++i) frame_->values[block.arguments[first + i]] = values[i];
}

Fields Machine::YieldedBy(const Op& terminator) const {
  Fields fields;
  fields.reserve(terminator.operands.size());
  for (ValueId id : terminator.operands) fields.push_back(frame_->values[id]);
  return fields;
}

// L 11: the branch that is not taken has no effects.
RuntimeValue Machine::If(const Op& op) {
  const bool taken = numerics::AsBool(Get(op, 0).scalar());
  const Op* yield = RunBlock(*op.regions[taken ? 0 : 1]);
  if (failed() || ResultType(op).IsNone()) return {};
  return RuntimeValue::Product(YieldedBy(*yield));
}

bool Machine::NextPoint(const Domain& domain, std::vector<int64_t>* ordinals) {
  for (size_t axis = ordinals->size(); axis-- > 0;) {
    if (++(*ordinals)[axis] < domain.ranges[axis].Count()) return true;
    (*ordinals)[axis] = 0;
  }
  return false;
}

// L 11: in order, row-major over a product; carries keep their schema.
RuntimeValue Machine::For(const Op& op) {
  const RuntimeValue domain_value = Get(op, 0);
  const Domain& domain = domain_value.domain();
  const Block& body = *op.regions[0];
  const size_t axes = domain.ranges.size();
  Fields carries;
  for (size_t i = 1; i < op.operands.size(); ++i) carries.push_back(Get(op, i));
  bool more = true;
  for (const Domain::Range& range : domain.ranges) more &= range.Count() > 0;
  std::vector<int64_t> ordinals(axes, 0);
  ParallelTasks* const tasks =
      checked_ != nullptr && op.kind == OpKind::kParallel ? &checked_->tasks : nullptr;
  if (tasks != nullptr && !tasks->EnterLoop(domain)) {
    FailRecords(op);
    return {};
  }
  for (int64_t iteration = 0; more; ++iteration) {
    if (tasks != nullptr && !tasks->BeginIteration(iteration)) {
      FailRecords(op);
      return {};
    }
    for (size_t axis = 0; axis < axes; ++axis) {
      const Domain::Range& range = domain.ranges[axis];
      frame_->values[body.arguments[axis]] = numerics::MakeIndex(range.At(ordinals[axis]));
    }
    SetArguments(body, axes, carries);
    const Op* yield = RunBlock(body);
    if (failed()) return {};
    if (checked_ != nullptr && !CheckCarries(op, carries, YieldedBy(*yield))) return {};
    for (size_t i = 0; i < carries.size(); ++i) {
      carries[i] = frame_->values[yield->operands[i]];
    }
    more = NextPoint(domain, &ordinals);
  }
  if (tasks != nullptr) tasks->LeaveLoop();
  return ResultType(op).IsNone() ? RuntimeValue() : RuntimeValue::Product(std::move(carries));
}

// 10, L 11: any order is legal; this one runs forward. A parallel loop carries nothing.
RuntimeValue Machine::Parallel(const Op& op) { return For(op); }

// L 11, 16: a loop that does not end runs until it is cancelled.
RuntimeValue Machine::While(const Op& op) {
  const Block& condition = *op.regions[0];
  const Block& body = *op.regions[1];
  Fields carries;
  for (size_t i = 0; i < op.operands.size(); ++i) carries.push_back(Get(op, i));
  while (true) {
    SetArguments(condition, 0, carries);
    const Op* test = RunBlock(condition);
    if (failed()) return {};
    if (!numerics::AsBool(frame_->values[test->operands[0]].scalar())) break;
    SetArguments(body, 0, carries);
    const Op* yield = RunBlock(body);
    if (failed()) return {};
    if (checked_ != nullptr && !CheckCarries(op, carries, YieldedBy(*yield))) return {};
    for (size_t i = 0; i < carries.size(); ++i) {
      carries[i] = frame_->values[yield->operands[i]];
    }
  }
  return ResultType(op).IsNone() ? RuntimeValue() : RuntimeValue::Product(std::move(carries));
}

// L 1: helpers see their arguments only; their symbols are bound by them.
RuntimeValue Machine::Call(const Op& op) {
  Frame* caller = frame_;
  Frame& callee = FrameOf(op.attr<CallAttr>().function);
  const Function& function = *callee.function;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    callee.values[function.body.arguments[i]] = Get(op, i);
  }
  frame_ = &callee;
  RuntimeValue result;
  bool bound = true;
  for (size_t i = 0; bound && i < op.operands.size(); ++i) {
    bound = BindShape(op, function.parameters[i].type, callee.values[function.body.arguments[i]],
                      "argument " + std::to_string(i) + " of the call");
  }
  if (bound) {
    const Op* done = RunBlock(function.body);
    if (!failed() && !done->operands.empty()) result = callee.values[done->operands[0]];
  }
  frame_ = caller;
  return result;
}

RuntimeValue Machine::CallRegion(const Block& region, std::span<const RuntimeValue> arguments) {
  SetArguments(region, 0, arguments);
  const Op* yield = RunBlock(region);
  if (failed()) return {};
  return frame_->values[yield->operands[0]];
}

RuntimeValue Machine::Execute(const Op& op) {
  switch (op.kind) {
    case OpKind::kConstant:
      return op.attr<ConstantAttr>().value;
    case OpKind::kDim:
      return Dim(op);
    case OpKind::kDomain:
      return MakeDomain(op);
    case OpKind::kDomainProduct:
      return DomainProduct(op);
    case OpKind::kSubregion:
      return Subregion(op);
    case OpKind::kIndices:
      return Indices(op);
    case OpKind::kRegionEnd:
      return RegionEnd(op);
    case OpKind::kAssumeInBounds:
      return AssumeInBounds(op);
    case OpKind::kParallel:
      return Parallel(op);
    case OpKind::kIf:
      return If(op);
    case OpKind::kFor:
      return For(op);
    case OpKind::kWhile:
      return While(op);
    case OpKind::kCall:
      return Call(op);
    case OpKind::kViewLoad:
    case OpKind::kBufferLoad:
      return ViewOrBufferLoad(op);
    case OpKind::kViewStore:
    case OpKind::kBufferStore:
      return Store(op);
    case OpKind::kReshape:
      return Reshape(op);
    case OpKind::kTranspose:
      return Transpose(op);
    case OpKind::kBroadcast:
      return Broadcast(op);
    case OpKind::kFull:
      return Full(op);
    case OpKind::kJoin:
      return Join(op);
    case OpKind::kMakeTuple:
    case OpKind::kMakeRecord:
      return MakeProduct(op);
    case OpKind::kExtract:
      return Extract(op);
    case OpKind::kUnary:
      return Unary(op);
    case OpKind::kBinary:
      return Binary(op);
    case OpKind::kCompare:
      return Compare(op);
    case OpKind::kSelect:
      if (checked_ != nullptr && !CheckRelaxed(op)) return {};
      return Select(op, Get(op, 0), Get(op, 1), Get(op, 2));
    case OpKind::kMask:
      if (checked_ != nullptr && !CheckRelaxed(op)) return {};
      return Select(op, Get(op, 1), Get(op, 0), Get(op, 2));
    case OpKind::kCast:
    case OpKind::kSaturatingCast:
      return Cast(op);
    case OpKind::kBitcast:
      return Bitcast(op);
    case OpKind::kReduce:
      return Reduce(op);
    case OpKind::kScan:
      return Scan(op);
    case OpKind::kRegionFold:
      return RegionFold(op);
    case OpKind::kRegionScan:
      return RegionScan(op);
    case OpKind::kContract:
      return Contract(op);
    case OpKind::kScaledContract:
      return ScaledContract(op);
    case OpKind::kSparseContract:
      return SparseContract(op);
    case OpKind::kHistogram:
      return Histogram(op);
    case OpKind::kQuantize:
      return Quantize(op);
    case OpKind::kQuantizedDot:
      return QuantizedDot(op);
    case OpKind::kGather:
      return Gather(op);
    case OpKind::kScatterUnique:
      return ScatterUnique(op);
    case OpKind::kScatterReduce:
      return ScatterReduce(op);
    case OpKind::kBuffer:
      return MakeBuffer(op);
    case OpKind::kAtomicLoad:
      return AtomicLoad(op);
    case OpKind::kAtomicStore:
      return AtomicStore(op);
    case OpKind::kAtomicRmw:
      return AtomicRmw(op);
    case OpKind::kAtomicCas:
      return AtomicCas(op);
    case OpKind::kRandomBits:
      return RandomBits(op);
    case OpKind::kConstexpr:
    case OpKind::kConstexprIf:
      Fail(ErrorKind::kUnsupported, op,
           "the interpreter runs specialised modules: " + std::string(InfoOf(op.kind).name) +
               " is not bound");
      return {};
    case OpKind::kYield:
    case OpKind::kReturn:
      break;
  }
  INTENT_UNREACHABLE() << InfoOf(op.kind).name;
  return {};
}

}  // namespace intent::interp
