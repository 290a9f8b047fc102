// Purity of callbacks, and reads of Out views before any store that can reach them.

#include "compiler/verify/verify_internal.h"

namespace intent::verify {
namespace {

bool IsLoop(OpKind kind) { return kind == OpKind::kFor || kind == OpKind::kWhile; }

// Stores that make a view's elements defined; read-modify-writes do not, they need them defined.
bool IsStore(OpKind kind) {
  return kind == OpKind::kViewStore || kind == OpKind::kScatterUnique ||
         kind == OpKind::kAtomicStore;
}

// Every operation with its region operation; no recursion.
class Walk {
 public:
  enum class Event : uint8_t { kOp, kEnter, kLeave };
  struct Item {
    Event event;
    const Op* op;   // kOp: the operation; kEnter, kLeave: the region's owner
    size_t region;  // kEnter, kLeave
  };

  explicit Walk(const Block& block) { stack_.push_back({&block}); }

  std::optional<Item> Next() {
    while (!stack_.empty()) {
      Cursor& cursor = stack_.back();
      if (cursor.entering != nullptr) {
        if (cursor.next_region < cursor.entering->regions.size()) {
          const Op* owner = cursor.entering;
          const size_t region = cursor.next_region++;
          stack_.push_back({owner->regions[region].get(), owner, region});
          return Item{Event::kEnter, owner, region};
        }
        cursor.entering = nullptr;
      }
      if (cursor.next < cursor.block->ops.size()) {
        const Op* op = cursor.block->ops[cursor.next++];
        if (!op->regions.empty()) {
          cursor.entering = op;
          cursor.next_region = 0;
        }
        return Item{Event::kOp, op, 0};
      }
      const Cursor done = cursor;
      stack_.pop_back();
      if (done.owner != nullptr) return Item{Event::kLeave, done.owner, done.region};
    }
    return std::nullopt;
  }

 private:
  struct Cursor {
    const Block* block;
    const Op* owner = nullptr;
    size_t region = 0;
    size_t next = 0;
    const Op* entering = nullptr;
    size_t next_region = 0;
  };
  std::vector<Cursor> stack_;
};

bool IsEffect(const Op& op, const std::vector<bool>& impure) {
  if (op.kind == OpKind::kCall) {
    const uint32_t callee = op.attr<CallAttr>().function;
    return callee < impure.size() && impure[callee];
  }
  const Effect effect = InfoOf(op.kind).effect;
  return effect == Effect::kWrite || effect == Effect::kDeclare;
}

void CheckPurity(const Function& function, const std::vector<bool>& impure, DiagnosticSink* sink) {
  Walk walk(function.body);
  std::vector<const Op*> callbacks;  // open region operations whose bodies are callbacks
  while (const auto item = walk.Next()) {
    if (item->event == Walk::Event::kEnter && IsIsolated(item->op->kind)) {
      callbacks.push_back(item->op);
    } else if (item->event == Walk::Event::kLeave && IsIsolated(item->op->kind)) {
      callbacks.pop_back();
    } else if (item->event == Walk::Event::kOp && !callbacks.empty()) {
      const Op& op = *item->op;
      const OpKind owner = callbacks.back()->kind;
      const bool region_op = owner == OpKind::kRegionFold || owner == OpKind::kRegionScan;
      if (!IsEffect(op, impure) && !(region_op && op.kind == OpKind::kRandomBits) &&
          !(!region_op && InfoOf(op.kind).effect == Effect::kRead)) {
        continue;
      }
      Diagnostic& error =
          sink->Error(DiagnosticCode::kImpure, op.ordinal,
                      std::string(InfoOf(op.kind).name) + " is an effect; the callbacks of " +
                          std::string(InfoOf(owner).name) +
                          " (combine, summarize, emit) are pure: they compute with "
                          "values, without storage");
      error.notes.push_back({callbacks.back()->ordinal, "the callback belongs to this operation"});
    }
  }
}

// Forward over program order with the set of views that some store may have reached. A store
// anywhere in an ordered loop reaches the whole loop by an earlier iteration; points of a parallel
// loop reach each other through atomics only.
class ReadsOfOut {
 public:
  ReadsOfOut(const Function& function, const Module& module, DiagnosticSink* sink)
      : function_(function), module_(module), sink_(sink) {
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      const Parameter& parameter = function.parameters[i];
      if (!parameter.type.IsView()) continue;
      // Views of one alias group share what was written.
      const uint32_t key = parameter.alias_group >= 0
                               ? static_cast<uint32_t>(function.parameters.size()) +
                                     static_cast<uint32_t>(parameter.alias_group)
                               : static_cast<uint32_t>(i);
      views_.emplace(function.body.arguments[i], View{key, parameter.type.access()});
      // What the caller gave is defined.
      if (parameter.type.access() != Access::kOut) written_.insert(key);
    }
  }

  void Run() {
    Walk walk(function_.body);
    while (const auto item = walk.Next()) {
      switch (item->event) {
        case Walk::Event::kOp:
          Visit(*item->op);
          break;
        case Walk::Event::kEnter:
          Enter(*item->op, item->region);
          break;
        case Walk::Event::kLeave:
          Leave(*item->op, item->region);
          break;
      }
    }
  }

 private:
  struct View {
    uint32_t key;
    Access access;
  };

  void Visit(const Op& op) {
    // Operands are views in few operations; each says what it does with them.
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const auto view = views_.find(op.operands[i]);
      if (view == views_.end()) continue;
      if (Reads(op, i) && view->second.access == Access::kOut &&
          !written_.contains(view->second.key)) {
        sink_->Error(DiagnosticCode::kReadBeforeWrite, op.ordinal,
                     "an Out view is read before any write that can reach the read; declare it "
                     "InOut to keep its initial contents");
        Write(view->second.key);
      }
      if (Writes(op, i)) Write(view->second.key);
    }
  }

  bool Reads(const Op& op, size_t operand) const {
    switch (op.kind) {
      case OpKind::kDim:
      case OpKind::kAssumeInBounds:
      case OpKind::kViewStore:
      case OpKind::kScatterUnique:
      case OpKind::kAtomicStore:
        return false;
      case OpKind::kCall:
        return CalleeAccess(op, operand) == Access::kIn;
      default:
        return true;
    }
  }

  bool Writes(const Op& op, size_t operand) const {
    if (op.kind == OpKind::kCall) return CalleeAccess(op, operand) != Access::kIn;
    return operand == 0 && IsStore(op.kind);
  }

  Access CalleeAccess(const Op& op, size_t operand) const {
    const uint32_t callee = op.attr<CallAttr>().function;
    if (callee >= module_.functions.size()) return Access::kInOut;
    const std::vector<Parameter>& parameters = module_.functions[callee]->parameters;
    if (operand >= parameters.size() || !parameters[operand].type.IsView()) return Access::kInOut;
    return parameters[operand].type.access();
  }

  void Write(uint32_t key) {
    if (written_.insert(key).second) log_.push_back(key);
  }

  void Enter(const Op& op, size_t region) {
    if (op.kind == OpKind::kIf || op.kind == OpKind::kConstexprIf) {
      // The second arm starts from what was written before the first.
      if (region == 0) {
        arms_.push_back({log_.size(), {}});
      } else {
        Arm& arm = arms_.back();
        arm.first.assign(log_.begin() + static_cast<ptrdiff_t>(arm.mark), log_.end());
        for (const uint32_t key : arm.first) written_.erase(key);
        log_.resize(arm.mark);
      }
    } else if (IsLoop(op.kind) && region == 0 && loops_++ == 0) {
      AddStores(op, /*atomics_only=*/false);
    } else if (op.kind == OpKind::kParallel && parallels_++ == 0) {
      AddStores(op, /*atomics_only=*/true);
    }
  }

  void Leave(const Op& op, size_t region) {
    if (region + 1 != op.regions.size()) return;
    if (op.kind == OpKind::kIf || op.kind == OpKind::kConstexprIf) {
      for (const uint32_t key : arms_.back().first) Write(key);
      arms_.pop_back();
    } else if (IsLoop(op.kind)) {
      --loops_;
    } else if (op.kind == OpKind::kParallel) {
      --parallels_;
    }
  }

  void AddStores(const Op& op, bool atomics_only) {
    for (const auto& region : op.regions) {
      ForEachOp(*region, [&](const Op& inner) {
        for (size_t i = 0; i < inner.operands.size(); ++i) {
          if (!Writes(inner, i) || (atomics_only && inner.kind != OpKind::kAtomicStore)) continue;
          const auto view = views_.find(inner.operands[i]);
          if (view != views_.end()) Write(view->second.key);
        }
      });
    }
  }

  struct Arm {
    size_t mark;
    std::vector<uint32_t> first;
  };

  const Function& function_;
  const Module& module_;
  DiagnosticSink* sink_;
  std::unordered_map<ValueId, View> views_;
  std::unordered_set<uint32_t> written_;
  std::vector<uint32_t> log_;
  std::vector<Arm> arms_;
  int loops_ = 0;
  int parallels_ = 0;
};

}  // namespace

bool HasEffect(const Function& function, const std::vector<bool>& impure) {
  bool found = false;
  ForEachOp(function.body, [&](const Op& op) { found = found || IsEffect(op, impure); });
  return found;
}

void VerifyEffects(const Function& function, const Module& module, const std::vector<bool>& impure,
                   DiagnosticSink* sink) {
  CheckPurity(function, impure, sink);
  if (function.is_kernel) ReadsOfOut(function, module, sink).Run();
}

}  // namespace intent::verify
