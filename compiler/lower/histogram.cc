// Histograms (seed 000 chapter 7): one pass over the members, in order.

#include "compiler/driver/intent_call.h"
#include "compiler/lower/lowerer.h"

namespace intent::lower {

void Lowerer::LowerHistogram(const Op& op) {
  const Binding values = Of(op.operands[0]), valid = Of(op.operands[2]);
  const Id bins = Scalar(op.operands[1]);
  const DType dtype = ResultType(op).dtype();
  b().Guard(b().Less(b().Index(0), bins), bins, b().Index(1), INTENT_BAD_SHAPE, -1, -1);
  const TensorPtr counts = AllocateDense(dtype, {bins});
  Bind(op.result, Binding::OfTensor(counts));
  StoreStage(Binding::Scalar(ZeroOf(dtype)), counts->extents, counts->base, counts->strides, {},
             true);
  const auto count = [&](const std::vector<Coord>& coords, const Context& context) {
    // A u64 beyond the range of index turns negative, hence out of bounds.
    const Id bin = b().Cast(Eval(values, coords, context), DType::kIndex);
    const Id active = Eval(valid, coords, context);
    const Id inside = b().And(b().LessEqual(b().Index(0), bin), b().Less(bin, bins));
    if (options_.bounds == Bounds::kGuard) {
      b().Guard(b().Or(b().Not(active), inside), bin, bins, INTENT_OUT_OF_BOUNDS, -1, -1);
    }
    const Id one = b().Const({dtype, 1});
    b().If(active, [&] {
      if (OnUnits()) {
        b().AtomicRmw(RmwKind::kAdd, counts->base, bin, one, MemoryOrder::kRelaxed);
        return;
      }
      const Id old = b().Load(counts->base, bin, 1, b().Index(0));
      b().Store(counts->base, bin, b().Add(old, one), b().Index(0));
    });
  };
  EachElement(ExtentIds(TypeOf(op.operands[0]).shape()), {}, OnUnits(), count);
  Fence();
  Report(op, "one pass, one element at a time");
}

}  // namespace intent::lower
