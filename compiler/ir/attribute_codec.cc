#include "compiler/ir/attribute_codec.h"

#include "compiler/ir/wire_enums.h"

namespace intent::wire {
namespace {

// Which member of the oneof each attribute is.
template <typename T>
struct Member;
#define INTENT_MEMBER(attr, message, field)                                                 \
  template <>                                                                               \
  struct Member<attr> {                                                                     \
    static constexpr auto kCase = pb::Operation::k##message;                                \
    static const auto& Get(const pb::Operation& operation) { return operation.field(); }    \
    static auto* Mutable(pb::Operation* operation) { return operation->mutable_##field(); } \
  };
INTENT_MEMBER(ConstantAttr, Constant, constant)
INTENT_MEMBER(ConstexprAttr, ConstexprReference, constexpr_reference)
INTENT_MEMBER(AxisAttr, Axis, axis)
INTENT_MEMBER(AxesAttr, Axes, axes)
INTENT_MEMBER(SubregionAttr, Subregion, subregion)
INTENT_MEMBER(CallAttr, Call, call)
INTENT_MEMBER(UnaryAttr, Unary, unary)
INTENT_MEMBER(BinaryAttr, Binary, binary)
INTENT_MEMBER(CompareAttr, Compare, compare)
INTENT_MEMBER(ReduceAttr, Reduce, reduce)
INTENT_MEMBER(ScanAttr, Scan, scan)
INTENT_MEMBER(RegionAttr, Region, region)
INTENT_MEMBER(ContractAttr, Contract, contract)
INTENT_MEMBER(ScaledAttr, ScaledContract, scaled_contract)
INTENT_MEMBER(SparseAttr, SparseContract, sparse_contract)
INTENT_MEMBER(FormatAttr, Quantized, quantized)
INTENT_MEMBER(IndexAttr, Index, index)
INTENT_MEMBER(ScatterReduceAttr, ScatterReduce, scatter_reduce)
INTENT_MEMBER(AtomicAttr, Atomic, atomic)
#undef INTENT_MEMBER

// A StaticInt field of a message: absent for the literal 0.
#define INTENT_WRITE_STATIC(value, message, field) \
  if (!((value) == StaticInt(0))) WriteStatic(value, (message)->mutable_##field())
#define INTENT_READ_STATIC(message, field, value) \
  (!(message).has_##field() || ReadStatic((message).field(), value))

class Writer {
 public:
  Writer(OpKind kind, const WriteContext& context) : kind_(kind), context_(context) {}

  void Write(const ConstantAttr& attr, pb::Constant* out) const {
    out->set_dtype(static_cast<pb::DType>(ToWire(attr.value.dtype)));
    std::string* bits = out->mutable_bits();
    for (int i = 0; i < StorageBytes(attr.value.dtype); ++i) {
      bits->push_back(static_cast<char>(static_cast<uint8_t>(attr.value.bits >> (8 * i))));
    }
  }
  void Write(const ConstexprAttr& attr, pb::ConstexprReference* out) const {
    out->set_expr(context_.constexprs[attr.expr]);
  }
  void Write(const AxisAttr& attr, pb::Axis* out) const {
    INTENT_WRITE_STATIC(attr.axis, out, axis);
  }
  void Write(const AxesAttr& attr, pb::Axes* out) const {
    for (const StaticInt& axis : attr.axes) WriteStatic(axis, out->add_axes());
  }
  void Write(const SubregionAttr& attr, pb::Subregion* out) const {
    out->set_has_start(attr.has_start);
    out->set_has_stop(attr.has_stop);
  }
  void Write(const CallAttr& attr, pb::Call* out) const {
    out->set_function(context_.functions[attr.function]);
  }
  void Write(const UnaryAttr& attr, pb::Unary* out) const {
    out->set_kind(static_cast<pb::UnaryKind>(ToWire(attr.kind)));
    INTENT_WRITE_STATIC(attr.approximate, out, approximate);
    INTENT_WRITE_STATIC(attr.flush_to_zero, out, flush_to_zero);
  }
  void Write(const BinaryAttr& attr, pb::Binary* out) const {
    out->set_kind(static_cast<pb::BinaryKind>(ToWire(attr.kind)));
    INTENT_WRITE_STATIC(attr.approximate, out, approximate);
    INTENT_WRITE_STATIC(attr.flush_to_zero, out, flush_to_zero);
  }
  void Write(const CompareAttr& attr, pb::Compare* out) const {
    out->set_kind(static_cast<pb::CompareKind>(ToWire(attr.kind)));
  }
  void Write(const ReduceAttr& attr, pb::Reduce* out) const {
    for (const StaticInt& axis : attr.axes) WriteStatic(axis, out->add_axes());
    out->set_combine(static_cast<pb::CombineKind>(ToWire(attr.combine)));
  }
  void Write(const ScanAttr& attr, pb::Scan* out) const {
    INTENT_WRITE_STATIC(attr.axis, out, axis);
    out->set_combine(static_cast<pb::CombineKind>(ToWire(attr.combine)));
    INTENT_WRITE_STATIC(attr.inclusive, out, inclusive);
    INTENT_WRITE_STATIC(attr.reverse, out, reverse);
  }
  void Write(const RegionAttr& attr, pb::Region* out) const {
    INTENT_WRITE_STATIC(attr.axis, out, axis);
    out->set_slice_symbol(attr.slice_symbol);
  }
  void Write(const ContractAttr& attr, pb::Contract* out) const {
    for (const AxisPair& pair : attr.reduce) WritePair(pair, out->add_reduce());
    for (const AxisPair& pair : attr.batch) WritePair(pair, out->add_batch());
  }
  void Write(const ScaledAttr& attr, pb::ScaledContract* out) const {
    out->set_lhs(static_cast<pb::ScaledFormat>(ToWire(attr.lhs)));
    out->set_rhs(static_cast<pb::ScaledFormat>(ToWire(attr.rhs)));
    INTENT_WRITE_STATIC(attr.group_size, out, group_size);
  }
  void Write(const SparseAttr& attr, pb::SparseContract* out) const {
    out->set_format(static_cast<pb::SparseFormat>(ToWire(attr.format)));
    INTENT_WRITE_STATIC(attr.compression_axis, out, compression_axis);
    if (!attr.contract.reduce.empty() || !attr.contract.batch.empty()) {
      Write(attr.contract, out->mutable_contract());
    }
  }
  void Write(const FormatAttr& attr, pb::Quantized* out) const {
    out->set_lhs(static_cast<pb::QuantizedFormat>(ToWire(attr.lhs)));
    out->set_rhs(static_cast<pb::QuantizedFormat>(ToWire(attr.rhs)));
  }
  void Write(const IndexAttr& attr, pb::Index* out) const {
    for (const IndexTerm& term : attr.terms) {
      pb::IndexTerm* to = out->add_terms();
      to->set_kind(static_cast<pb::IndexTermKind>(ToWire(term.kind)));
      if (term.kind == IndexTermKind::kStatic) INTENT_WRITE_STATIC(term.position, to, position);
    }
    out->set_has_valid(attr.has_valid);
    out->set_has_fill(attr.has_fill);
  }
  void Write(const ScatterReduceAttr& attr, pb::ScatterReduce* out) const {
    Write(attr.index, out->mutable_index());
    out->set_combine(static_cast<pb::CombineKind>(ToWire(attr.combine)));
  }
  void Write(const AtomicAttr& attr, pb::Atomic* out) const {
    Write(attr.index, out->mutable_index());
    if (kind_ == OpKind::kAtomicRmw) out->set_rmw(static_cast<pb::RmwKind>(ToWire(attr.rmw)));
    out->set_order(static_cast<pb::MemoryOrder>(ToWire(attr.order)));
  }

 private:
  void WriteStatic(const StaticInt& value, pb::StaticInt* out) const {
    if (value.resolved()) {
      out->set_value(value.value);
    } else {
      out->set_expr(context_.constexprs[value.expr]);
    }
  }
  void WritePair(const AxisPair& pair, pb::AxisPair* out) const {
    INTENT_WRITE_STATIC(pair.lhs, out, lhs);
    INTENT_WRITE_STATIC(pair.rhs, out, rhs);
  }

  OpKind kind_;
  const WriteContext& context_;
};

class Reader {
 public:
  Reader(OpKind kind, const ReadContext& context, Diagnostic* error)
      : kind_(kind), context_(context), error_(error) {}

  bool Read(const pb::Constant& in, ConstantAttr* attr) const {
    if (!ReadEnum(in.dtype(), &attr->value.dtype)) return false;
    const size_t bytes = static_cast<size_t>(StorageBytes(attr->value.dtype));
    if (in.bits().size() != bytes) {
      return Fail(DiagnosticCode::kMalformedModule,
                  "a constant of " + std::string(DTypeName(attr->value.dtype)) + " has " +
                      std::to_string(bytes) + " bytes, not " + std::to_string(in.bits().size()));
    }
    attr->value.bits = 0;
    for (size_t i = bytes; i-- > 0;) {
      attr->value.bits = attr->value.bits << 8 | static_cast<uint8_t>(in.bits()[i]);
    }
    const int width = BitWidth(attr->value.dtype);
    if (width < 128 && attr->value.bits >> width != 0) {
      return Fail(DiagnosticCode::kMalformedModule, "a constant of " +
                                                        std::string(DTypeName(attr->value.dtype)) +
                                                        " has bits beyond its width");
    }
    return true;
  }
  bool Read(const pb::ConstexprReference& in, ConstexprAttr* attr) const {
    attr->expr = in.expr();
    return CheckIndex(in.expr(), context_.constexpr_nodes, "constexpr node");
  }
  bool Read(const pb::Axis& in, AxisAttr* attr) const {
    return INTENT_READ_STATIC(in, axis, &attr->axis);
  }
  bool Read(const pb::Axes& in, AxesAttr* attr) const { return ReadList(in.axes(), &attr->axes); }
  bool Read(const pb::Subregion& in, SubregionAttr* attr) const {
    attr->has_start = in.has_start();
    attr->has_stop = in.has_stop();
    return true;
  }
  bool Read(const pb::Call& in, CallAttr* attr) const {
    attr->function = in.function();
    return CheckIndex(in.function(), context_.functions, "function");
  }
  bool Read(const pb::Unary& in, UnaryAttr* attr) const {
    return ReadEnum(in.kind(), &attr->kind) &&
           INTENT_READ_STATIC(in, approximate, &attr->approximate) &&
           INTENT_READ_STATIC(in, flush_to_zero, &attr->flush_to_zero);
  }
  bool Read(const pb::Binary& in, BinaryAttr* attr) const {
    return ReadEnum(in.kind(), &attr->kind) &&
           INTENT_READ_STATIC(in, approximate, &attr->approximate) &&
           INTENT_READ_STATIC(in, flush_to_zero, &attr->flush_to_zero);
  }
  bool Read(const pb::Compare& in, CompareAttr* attr) const {
    return ReadEnum(in.kind(), &attr->kind);
  }
  bool Read(const pb::Reduce& in, ReduceAttr* attr) const {
    return ReadList(in.axes(), &attr->axes) && ReadEnum(in.combine(), &attr->combine);
  }
  bool Read(const pb::Scan& in, ScanAttr* attr) const {
    attr->inclusive = 0;
    return INTENT_READ_STATIC(in, axis, &attr->axis) && ReadEnum(in.combine(), &attr->combine) &&
           INTENT_READ_STATIC(in, inclusive, &attr->inclusive) &&
           INTENT_READ_STATIC(in, reverse, &attr->reverse);
  }
  bool Read(const pb::Region& in, RegionAttr* attr) const {
    attr->slice_symbol = in.slice_symbol();
    return INTENT_READ_STATIC(in, axis, &attr->axis) &&
           CheckIndex(in.slice_symbol(), context_.symbols, "shape symbol");
  }
  bool Read(const pb::Contract& in, ContractAttr* attr) const {
    return ReadPairs(in.reduce(), &attr->reduce) && ReadPairs(in.batch(), &attr->batch);
  }
  bool Read(const pb::ScaledContract& in, ScaledAttr* attr) const {
    return ReadEnum(in.lhs(), &attr->lhs) && ReadEnum(in.rhs(), &attr->rhs) &&
           INTENT_READ_STATIC(in, group_size, &attr->group_size);
  }
  bool Read(const pb::SparseContract& in, SparseAttr* attr) const {
    return ReadEnum(in.format(), &attr->format) &&
           INTENT_READ_STATIC(in, compression_axis, &attr->compression_axis) &&
           Read(in.contract(), &attr->contract);
  }
  bool Read(const pb::Quantized& in, FormatAttr* attr) const {
    return ReadEnum(in.lhs(), &attr->lhs) && ReadEnum(in.rhs(), &attr->rhs);
  }
  bool Read(const pb::Index& in, IndexAttr* attr) const {
    if (!CheckSize(in.terms_size())) return false;
    for (const pb::IndexTerm& term : in.terms()) {
      IndexTerm to;
      if (!ReadEnum(term.kind(), &to.kind)) return false;
      if (term.has_position() && to.kind != IndexTermKind::kStatic) {
        return Fail(DiagnosticCode::kMalformedModule, "only static index terms have a position");
      }
      if (!INTENT_READ_STATIC(term, position, &to.position)) return false;
      attr->terms.push_back(to);
    }
    attr->has_valid = in.has_valid();
    attr->has_fill = in.has_fill();
    return true;
  }
  bool Read(const pb::ScatterReduce& in, ScatterReduceAttr* attr) const {
    return CheckIndexThere(in.has_index()) && Read(in.index(), &attr->index) &&
           ReadEnum(in.combine(), &attr->combine);
  }
  bool Read(const pb::Atomic& in, AtomicAttr* attr) const {
    const bool rmw = kind_ == OpKind::kAtomicRmw;
    if (!rmw && in.rmw() != pb::RMW_UNSPECIFIED) {
      return Fail(DiagnosticCode::kMalformedModule, "only atomic_rmw has an update kind");
    }
    return CheckIndexThere(in.has_index()) && Read(in.index(), &attr->index) &&
           (!rmw || ReadEnum(in.rmw(), &attr->rmw)) && ReadEnum(in.order(), &attr->order);
  }

  bool Fail(DiagnosticCode code, std::string message) const {
    error_->code = code;
    error_->message = std::move(message);
    return false;
  }

 private:
  template <typename Wire, typename E>
  bool ReadEnum(Wire wire, E* kind) const {
    const std::optional<E> read = FromWire<E>(static_cast<int>(wire));
    if (!read) {
      return Fail(DiagnosticCode::kMalformedModule,
                  std::string(InfoOfEnum<E>().descriptor->name()) + " is not specified");
    }
    *kind = *read;
    return true;
  }
  bool CheckIndex(uint32_t index, size_t count, const char* what) const {
    if (index < count) return true;
    return Fail(DiagnosticCode::kBadReference, std::string("no ") + what + " " +
                                                   std::to_string(index) + ", there are " +
                                                   std::to_string(count));
  }
  bool CheckIndexThere(bool there) const {
    return there || Fail(DiagnosticCode::kMalformedModule, "the index relation is missing");
  }
  bool CheckSize(int size) const {
    if (static_cast<size_t>(size) <= context_.list_size) return true;
    return Fail(DiagnosticCode::kLimit, std::to_string(size) +
                                            " entries in one attribute, at most " +
                                            std::to_string(context_.list_size) + " are read");
  }
  bool ReadStatic(const pb::StaticInt& in, StaticInt* value) const {
    switch (in.content_case()) {
      case pb::StaticInt::kValue:
        *value = StaticInt(in.value());
        return true;
      case pb::StaticInt::kExpr:
        *value = StaticInt::Ref(in.expr());
        return CheckIndex(in.expr(), context_.constexpr_nodes, "constexpr node");
      case pb::StaticInt::CONTENT_NOT_SET:
        break;
    }
    return Fail(DiagnosticCode::kMalformedModule, "a static integer without content");
  }
  template <typename List>
  bool ReadList(const List& in, std::vector<StaticInt>* list) const {
    if (!CheckSize(in.size())) return false;
    for (const pb::StaticInt& value : in) {
      list->emplace_back();
      if (!ReadStatic(value, &list->back())) return false;
    }
    return true;
  }
  template <typename List>
  bool ReadPairs(const List& in, std::vector<AxisPair>* pairs) const {
    if (!CheckSize(in.size())) return false;
    for (const pb::AxisPair& pair : in) {
      pairs->emplace_back();
      if (!INTENT_READ_STATIC(pair, lhs, &pairs->back().lhs)) return false;
      if (!INTENT_READ_STATIC(pair, rhs, &pairs->back().rhs)) return false;
    }
    return true;
  }

  OpKind kind_;
  const ReadContext& context_;
  Diagnostic* error_;
};

template <typename T>
std::optional<Attributes> ReadAs(const Reader& reader, const pb::Operation& operation,
                                 OpKind kind) {
  if constexpr (std::is_same_v<T, NoAttr>) {
    if (operation.attributes_case() == pb::Operation::ATTRIBUTES_NOT_SET) return NoAttr{};
  } else if (operation.attributes_case() == Member<T>::kCase) {
    T attr;
    if (!reader.Read(Member<T>::Get(operation), &attr)) return std::nullopt;
    return attr;
  }
  reader.Fail(DiagnosticCode::kMalformedModule,
              std::string(KindName(kind)) + " does not carry its attributes");
  return std::nullopt;
}

}  // namespace

void WriteAttributes(const Op& op, const WriteContext& context, pb::Operation* operation) {
  const Writer writer(op.kind, context);
  std::visit(
      [&](const auto& attr) {
        using T = std::decay_t<decltype(attr)>;
        if constexpr (!std::is_same_v<T, NoAttr>) {
          writer.Write(attr, Member<T>::Mutable(operation));
        }
      },
      op.attributes);
}

std::optional<Attributes> ReadAttributes(const pb::Operation& operation, OpKind kind,
                                         const ReadContext& context, Diagnostic* error) {
  const Reader reader(kind, context, error);
  switch (kind) {
#define INTENT_OP(name, text, attr, effect, omin, omax, rmin, rmax) \
  case OpKind::name:                                                \
    return ReadAs<attr>(reader, operation, kind);
#include "compiler/ir/ops.def"
#undef INTENT_OP
  }
  return std::nullopt;
}

}  // namespace intent::wire
