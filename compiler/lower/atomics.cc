// Atomics (seed 000 chapter 11). Integers map to atomics of the tile program; floats, and combines
// that no machine has, go through the integers of their bits, by loops that compare and exchange.

#include "compiler/diag/check.h"
#include "compiler/ir/rmw_kind.h"
#include "compiler/lower/access.h"

namespace intent::lower {
namespace {

// The unsigned integer whose bits an element's memory holds.
DType CarrierOf(DType dtype) {
  switch (StorageBytes(dtype)) {
    case 1:
      return DType::kU8;
    case 2:
      return DType::kU16;
    case 4:
      return DType::kU32;
    default:
      return DType::kU64;
  }
}

}  // namespace

Id Lowerer::AtomicUpdate(Id mem, Id offset, MemoryOrder order, const std::function<Id(Id)>& next) {
  const DType dtype = b().type(mem).dtype, carrier = CarrierOf(dtype);
  const bool is_bool = dtype == DType::kBool;
  const Id bits = b().MemCast(mem, carrier);
  const auto open = [&](Id seen) {
    return is_bool ? b().Cast(seen, DType::kBool) : b().Bitcast(seen, dtype);
  };
  const std::vector<Id> last = b().While(
      {b().AtomicLoad(bits, offset, MemoryOrder::kRelaxed), b().Bool(false)},
      [&](const std::vector<Id>& state) { return b().Not(state[1]); },
      [&](const std::vector<Id>& state) {
        const Id value = next(open(state[0]));
        const Id desired = is_bool ? b().Cast(value, carrier) : b().Bitcast(value, carrier);
        const auto exchanged = b().AtomicCas(bits, offset, state[0], desired, order);
        return std::vector<Id>{exchanged.old, exchanged.success};
      });
  return open(last[0]);
}

void Lowerer::LowerAtomic(const Op& op) {
  const AtomicAttr& attr = op.attr<AtomicAttr>();
  const size_t values = op.kind == OpKind::kAtomicLoad ? 0 : op.kind == OpKind::kAtomicCas ? 2 : 1;
  const TensorPtr element = AffineWindow(BindAccess(op, attr.index, 1 + values));
  INTENT_CHECK(element != nullptr) << "an atomic acts on one element";
  const DType dtype = element->dtype;
  const DType carrier = IsFloat(dtype) ? CarrierOf(dtype) : dtype;
  const Id mem = b().MemCast(element->base, carrier), at = b().Index(0);
  const auto operand = [&](size_t i) { return b().Bitcast(Scalar(op.operands[i]), carrier); };
  const auto bind = [&](Id old) { Bind(op.result, Binding::Scalar(b().Bitcast(old, dtype))); };
  std::vector<Id> operands;
  for (size_t i = 1; i <= values; ++i) operands.push_back(operand(i));
  Fence();
  switch (op.kind) {
    case OpKind::kAtomicLoad:
      bind(b().AtomicLoad(mem, at, attr.order));
      break;
    case OpKind::kAtomicStore:
      b().AtomicStore(mem, at, operands[0], attr.order);
      break;
    case OpKind::kAtomicCas: {
      const auto exchanged = b().AtomicCas(mem, at, operands[0], operands[1], attr.order);
      Bind(op.result, Binding::Product({Binding::Scalar(b().Bitcast(exchanged.old, dtype)),
                                        Binding::Scalar(exchanged.success)}));
      break;
    }
    default:
      if (!IsFloat(dtype) || attr.rmw == RmwKind::kExchange) {
        bind(b().AtomicRmw(attr.rmw, mem, at, operands[0], attr.order));
        break;
      }
      const Id update = Scalar(op.operands[1]);
      Bind(op.result, Binding::Scalar(AtomicUpdate(element->base, at, attr.order, [&](Id old) {
             return b().Rounded(CombineOf(attr.rmw), old, update);
           })));
      Report(op, "by compare and exchange");
      break;
  }
  Fence();
}

}  // namespace intent::lower
