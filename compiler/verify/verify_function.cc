// One walk over a function in program order: structure, dominance, types.

#include <algorithm>

#include "compiler/verify/verify_internal.h"

namespace intent::verify {
namespace {

class FunctionVerifier {
 public:
  FunctionVerifier(const Module& module, const Function& function, const VerifyOptions& options,
                   DiagnosticSink* sink)
      : module_(module),
        function_(function),
        options_(options),
        sink_(sink),
        extents_(module, function),
        context_{.module = module,
                 .function = function,
                 .extents = extents_,
                 .report = [this](DiagnosticCode code,
                                  std::string text) { Fail(code, std::move(text)); },
                 .namer = options.namer,
                 .specialized = options.specialized} {}

  bool Run() {
    if (!Bounded()) return false;
    visible_.assign(function_.value_count(), 0);
    seen_.assign(function_.value_count(), false);
    Signature();
    frames_.push_back({.block = &function_.body, .isolation = ++isolations_});
    Arguments(function_.body);
    while (!frames_.empty()) Step();
    return sound_;
  }

 private:
  struct Frame {
    const Block* block;
    uint32_t isolation;
    size_t next = 0;
    const Op* op = nullptr;  // whose regions are being walked
    size_t next_region = 0;  // of op
    bool op_ok = false;      // op's own structure is right, so that it may be inferred
    bool region_ok = true;   // what was walked of op's regions ends in a yield
    size_t defined = 0;      // values defined before this block
    uint32_t slice_symbol = kNoValue;
  };

  void Fail(DiagnosticCode code, std::string message) {
    constexpr size_t kMaxMessage = 599;
    if (message.size() > kMaxMessage) message = message.substr(0, kMaxMessage - 3) + "...";
    sink_->Error(code, ordinal_, std::move(message));
  }
  void Unsound(DiagnosticCode code, std::string message) {
    sound_ = false;
    Fail(code, std::move(message));
  }
  std::string Text(const Type& type) const { return type.ToString(options_.namer); }

  bool Bounded() {
    bool bounded = IsBounded(function_.result);
    for (const Parameter& parameter : function_.parameters) {
      bounded = bounded && IsBounded(parameter.type);
    }
    for (ValueId id = 0; bounded && id < function_.value_count(); ++id) {
      bounded = IsBounded(function_.type(id));
    }
    if (!bounded) {
      Fail(DiagnosticCode::kLimit, "a type is nested too deeply, too large or too complex");
    }
    return bounded;
  }

  void Signature() {
    if (function_.body.arguments.size() != function_.parameters.size()) {
      Unsound(DiagnosticCode::kBadStructure, "a function's body takes its parameters");
    }
    for (size_t i = 0; i < function_.parameters.size(); ++i) {
      const Parameter& parameter = function_.parameters[i];
      const std::string name = "parameter " + std::to_string(i);
      if (function_.is_kernel && !parameter.type.IsView() && !parameter.type.IsScalar()) {
        Fail(DiagnosticCode::kBadSignature,
             name + " of a kernel is a view or scalar, not " + Text(parameter.type));
      }
      if (function_.is_kernel && parameter.type.IsScalar() &&
          !IsAddressable(parameter.type.dtype())) {
        Fail(DiagnosticCode::kNotAddressable,
             name + " of a kernel cannot be " + Text(parameter.type));
      }
      if (parameter.type.IsNone()) {
        Fail(DiagnosticCode::kBadSignature, name + " has no type");
      }
      if (parameter.noalias && parameter.alias_group >= 0) {
        Fail(DiagnosticCode::kAliasConflict, "alias and noalias exclude each other on " + name);
      }
      if ((parameter.noalias || parameter.alias_group >= 0) && !parameter.type.IsView()) {
        Fail(DiagnosticCode::kAliasConflict, "alias and noalias are for views, not for " + name);
      }
      parameter.type.ForEachExtent([&](const Extent& extent) {
        const std::vector<Extent::Term> terms = extent.Terms();
        if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1 &&
            terms[0].factors[0].power == 1 && terms[0].factors[0].atom->kind == AtomKind::kSymbol) {
          bound_symbols_.insert(terms[0].factors[0].atom->index);
        }
      });
      if (i < function_.body.arguments.size()) {
        const ValueId argument = function_.body.arguments[i];
        if (argument < function_.value_count() && function_.type(argument) != parameter.type) {
          Fail(DiagnosticCode::kDeclaredType, name + " is " + Text(parameter.type) +
                                                  " but the body takes " +
                                                  Text(function_.type(argument)));
        }
      }
    }
    if (function_.is_kernel && !function_.result.IsNone()) {
      Fail(DiagnosticCode::kBadReturn, "a kernel returns nothing");
    }
    if (!function_.result.IsNone() && !function_.result.IsElementwise() &&
        !function_.result.IsProduct()) {
      Fail(DiagnosticCode::kBadReturn,
           "a helper returns a scalar, tensor or product, not " + Text(function_.result));
    }
  }

  // Defines a block's arguments in the innermost frame.
  void Arguments(const Block& block) {
    for (size_t i = 0; i < block.arguments.size(); ++i) {
      const ValueId id = block.arguments[i];
      if (id >= function_.value_count() || function_.value(id).block != &block ||
          function_.value(id).position != i || seen_[id]) {
        Unsound(DiagnosticCode::kBadReference, "a block argument is no value of its own");
        continue;
      }
      CheckType(function_.type(id));
      Define(id);
    }
  }

  void Define(ValueId id) {
    seen_[id] = true;
    visible_[id] = frames_.back().isolation;
    defined_.push_back(id);
  }

  void Step() {
    Frame& frame = frames_.back();
    if (frame.op != nullptr) {
      if (frame.next_region < frame.op->regions.size() && EnterRegion(&frame)) return;
      Finish(&frame);
      return;
    }
    if (frame.next == frame.block->ops.size()) {
      LeaveBlock();
      return;
    }
    const Op* op = frame.block->ops[frame.next++];
    if (op == nullptr) {
      Unsound(DiagnosticCode::kBadReference, "an operation is missing");
      return;
    }
    ordinal_ = op->ordinal;
    if (op->result >= function_.value_count() || function_.value(op->result).op != op ||
        seen_[op->result]) {
      Unsound(DiagnosticCode::kBadReference, "an operation stands twice or has no result");
      return;
    }
    seen_[op->result] = true;
    frame.op = op;
    frame.next_region = 0;
    frame.region_ok = true;
    frame.op_ok = Structure(*op, frame.next == frame.block->ops.size());
    frame.op_ok = Operands(*op) && frame.op_ok;
  }

  bool Structure(const Op& op, bool last) {
    const OpInfo& info = InfoOf(op.kind);
    const auto within = [](size_t count, int min, int max) {
      return count >= static_cast<size_t>(min) && (max < 0 || count <= static_cast<size_t>(max));
    };
    bool ok = true;
    if (!within(op.operands.size(), info.min_operands, info.max_operands)) {
      Fail(DiagnosticCode::kBadStructure,
           std::string(info.name) + " has " + std::to_string(op.operands.size()) + " operands");
      ok = false;
    }
    if (!within(op.regions.size(), info.min_regions, info.max_regions)) {
      Fail(DiagnosticCode::kBadStructure,
           std::string(info.name) + " has " + std::to_string(op.regions.size()) + " regions");
      ok = false;
    }
    const bool body = frames_.size() == 1;
    if (last) {
      if (op.kind == (body ? OpKind::kReturn : OpKind::kYield)) return ok;
      Fail(DiagnosticCode::kBadStructure,
           std::string(body ? "a function ends in return" : "a region ends in yield") + ", not " +
               std::string(info.name));
      if (!body) frames_[frames_.size() - 2].region_ok = false;
      sound_ = false;
      return false;
    }
    if (info.effect == Effect::kTerminator) {
      Fail(DiagnosticCode::kBadStructure,
           std::string(info.name) + " is not the last operation of its block");
      return false;
    }
    return ok;
  }

  bool Operands(const Op& op) {
    bool ok = true;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId id = op.operands[i];
      if (id >= function_.value_count()) {
        Unsound(DiagnosticCode::kBadReference,
                "operand " + std::to_string(i) + " refers to no value");
        ok = false;
      } else if (visible_[id] == 0) {
        Fail(DiagnosticCode::kBadReference,
             "operand " + std::to_string(i) + " is not defined on every path to its use");
        ok = false;
      } else if (visible_[id] != frames_.back().isolation) {
        Fail(DiagnosticCode::kBadReference, "operand " + std::to_string(i) +
                                                " is not an argument of its callback: callbacks "
                                                "capture nothing implicitly");
        ok = false;
      }
    }
    return ok;
  }

  // True if a region was pushed.
  bool EnterRegion(Frame* frame) {
    const Op* op = frame->op;
    const size_t index = frame->next_region++;
    const Block* block = op->regions[index].get();
    if (block == nullptr || block->ops.empty()) {
      Unsound(DiagnosticCode::kBadStructure, "a region is empty");
      frame->region_ok = false;
      return frame->next_region < op->regions.size() && EnterRegion(frame);
    }
    if (frames_.size() > kMaxRegionDepth) {
      Unsound(DiagnosticCode::kLimit,
              "regions are nested more than " + std::to_string(kMaxRegionDepth) + " deep");
      frame->region_ok = false;
      return false;
    }
    Frame inner{.block = block, .isolation = frame->isolation, .defined = defined_.size()};
    if (IsIsolated(op->kind)) inner.isolation = ++isolations_;
    const bool slices = (op->kind == OpKind::kRegionFold && index == 0) ||
                        (op->kind == OpKind::kRegionScan && (index == 0 || index == 3));
    if (slices) {
      inner.slice_symbol = op->attr<RegionAttr>().slice_symbol;
      if (index == 0) OpenSliceSymbol(inner.slice_symbol);
      open_slices_.insert(inner.slice_symbol);
    }
    frames_.push_back(inner);
    Arguments(*block);
    return true;
  }

  void OpenSliceSymbol(uint32_t symbol) {
    if (symbol >= function_.symbol_count || bound_symbols_.contains(symbol) ||
        !used_slices_.insert(symbol).second) {
      Fail(DiagnosticCode::kBadExtent,
           "the slice symbol of a region operation is a symbol of the function of its own");
    }
  }

  void LeaveBlock() {
    const Frame& frame = frames_.back();
    if (frame.block->ops.empty()) {
      Unsound(DiagnosticCode::kBadStructure, "a function ends in return");
    }
    if (frame.slice_symbol != kNoValue) open_slices_.erase(frame.slice_symbol);
    while (defined_.size() > frame.defined) {
      visible_[defined_.back()] = 0;
      defined_.pop_back();
    }
    frames_.pop_back();
  }

  void Finish(Frame* frame) {
    const Op& op = *frame->op;
    ordinal_ = op.ordinal;
    frame->op = nullptr;
    const Type& declared = function_.type(op.result);
    if (CheckType(declared) && frame->op_ok && frame->region_ok) {
      if (op.kind == OpKind::kReturn) Return(op);
      const std::optional<Type> inferred = InferType(context_, op);
      if (inferred && *inferred != declared) {
        Fail(DiagnosticCode::kDeclaredType,
             std::string(InfoOf(op.kind).name) + " gives " + Text(*inferred) +
                 " but its result is declared " + Text(declared));
      }
    }
    Define(op.result);
  }

  void Return(const Op& op) {
    const Type given = op.operands.empty() ? Type::None() : function_.type(op.operands[0]);
    if (given == function_.result) return;
    Fail(DiagnosticCode::kBadReturn,
         function_.is_kernel ? "a kernel returns nothing, not " + Text(given)
                             : "the helper returns " + Text(given) + " but is declared to return " +
                                   Text(function_.result));
  }

  bool CheckType(const Type& type) {
    if (const auto fault = FaultOf(type, options_.namer)) {
      Fail(fault->code, fault->text);
      return false;
    }
    bool ok = true;
    type.ForEachExtent([&](const Extent& extent) {
      extent.ForEachLeaf([&](AtomKind kind, uint32_t index) { ok = ok && CheckLeaf(kind, index); });
    });
    return ok;
  }

  bool CheckLeaf(AtomKind kind, uint32_t index) {
    if (kind == AtomKind::kSymbol) {
      if (index >= function_.symbol_count) {
        Fail(DiagnosticCode::kBadReference, "an extent names a symbol that the function lacks");
        return false;
      }
      if (bound_symbols_.contains(index) || open_slices_.contains(index)) return true;
      Fail(DiagnosticCode::kBadExtent, "an extent names symbol " +
                                           Extent::Symbol(index).ToString(options_.namer) +
                                           ", which no parameter's axis binds here");
      return false;
    }
    if (kind == AtomKind::kConstexpr) {
      if (options_.specialized) {
        Fail(DiagnosticCode::kUnboundConstexpr, "an extent names a constexpr after specialisation");
        return false;
      }
      if (index < module_.constexprs.size() &&
          module_.constexprs[index].kind == ConstexprKind::kInt) {
        return true;
      }
      Fail(DiagnosticCode::kBadReference, "an extent names no int constexpr parameter");
      return false;
    }
    if (index >= function_.value_count() || !function_.type(index).IsScalar(DType::kIndex)) {
      Fail(DiagnosticCode::kBadReference, "an extent names no index value");
      return false;
    }
    if (visible_[index] != 0) return true;
    Fail(DiagnosticCode::kBadReference,
         "an extent names a value that is not defined on every path to it");
    return false;
  }

  const Module& module_;
  const Function& function_;
  const VerifyOptions& options_;
  DiagnosticSink* sink_;
  ValueExtents extents_;
  InferContext context_;
  uint32_t ordinal_ = kNoOrdinal;
  bool sound_ = true;
  std::vector<Frame> frames_;
  uint32_t isolations_ = 0;
  std::vector<uint32_t> visible_;  // by value: the isolation it is visible in, 0 if it is not
  std::vector<bool> seen_;
  std::vector<ValueId> defined_;
  std::unordered_set<uint32_t> bound_symbols_, open_slices_, used_slices_;
};

}  // namespace

bool VerifyFunction(const Module& module, const Function& function, const VerifyOptions& options,
                    DiagnosticSink* sink) {
  return FunctionVerifier(module, function, options, sink).Run();
}

}  // namespace intent::verify
