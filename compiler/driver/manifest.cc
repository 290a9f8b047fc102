#include "compiler/driver/manifest.h"

namespace intent {
namespace {

namespace wire = compile::v1;

void Append(wire::Program* program, wire::Instruction::Opcode opcode, int64_t value = 0,
            uint32_t index = 0) {
  wire::Instruction* instruction = program->add_instructions();
  instruction->set_opcode(opcode);
  instruction->set_value(value);
  instruction->set_index(index);
}

// An extent of a specialised signature as a postfix program over its symbols.
void AppendExtent(wire::Program* program, const Extent& extent) {
  const std::vector<Extent::Term> terms = extent.Terms();
  if (terms.empty()) Append(program, wire::Instruction::OPCODE_CONSTANT, 0);
  for (size_t i = 0; i < terms.size(); ++i) {
    Append(program, wire::Instruction::OPCODE_CONSTANT, terms[i].coefficient);
    for (const Extent::Factor& factor : terms[i].factors) {
      for (int power = 0; power < factor.power; ++power) {
        const ExtentAtom& atom = *factor.atom;
        if (atom.lhs == nullptr) {
          Append(program, wire::Instruction::OPCODE_SYMBOL, 0, atom.index);
        } else {
          AppendExtent(program, *atom.lhs);
          AppendExtent(program, *atom.rhs);
          Append(program, atom.kind == AtomKind::kFloorDiv  ? wire::Instruction::OPCODE_FLOORDIV
                          : atom.kind == AtomKind::kMod     ? wire::Instruction::OPCODE_MOD
                          : atom.kind == AtomKind::kCeilDiv ? wire::Instruction::OPCODE_CEILDIV
                          : atom.kind == AtomKind::kMin     ? wire::Instruction::OPCODE_MIN
                                                            : wire::Instruction::OPCODE_MAX);
        }
        Append(program, wire::Instruction::OPCODE_MUL);
      }
    }
    if (i != 0) Append(program, wire::Instruction::OPCODE_ADD);
  }
}

void FillAxis(wire::Axis* axis, const Extent& extent) {
  if (extent.IsConstant()) {
    axis->set_constant(extent.constant());
    return;
  }
  const std::vector<Extent::Term> terms = extent.Terms();
  if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1 &&
      terms[0].factors[0].power == 1 && terms[0].factors[0].atom->kind == AtomKind::kSymbol) {
    axis->set_symbol(terms[0].factors[0].atom->index);
    return;
  }
  AppendExtent(axis->mutable_expression(), extent);
}

}  // namespace

std::string MakeManifest(const Module& module, const Target& target, const Report& report,
                         const ManifestFacts& facts) {
  const Function& kernel = module.kernel_function();
  wire::Manifest manifest;
  manifest.set_target(target.ToString());
  manifest.set_entry_symbol(facts.entry_symbol);
  manifest.set_fingerprint(facts.fingerprint);
  manifest.set_symbol_count(kernel.symbol_count);
  if (facts.numerics == Numerics::kRelaxedNormalization) {
    manifest.set_numerics(wire::NUMERICS_RELAXED_NORMALIZATION);
  }
  for (const Parameter& parameter : kernel.parameters) {
    wire::Parameter* out = manifest.add_parameters();
    const std::string dtype(DTypeName(parameter.type.dtype()));
    if (!parameter.type.IsView()) {
      out->mutable_scalar()->set_dtype(dtype);
      continue;
    }
    wire::ViewParameter* view = out->mutable_view();
    view->set_dtype(dtype);
    view->set_access(parameter.type.access() == Access::kIn    ? wire::ACCESS_IN
                     : parameter.type.access() == Access::kOut ? wire::ACCESS_OUT
                                                               : wire::ACCESS_INOUT);
    view->set_noalias(parameter.noalias);
    if (parameter.alias_group >= 0)
      view->set_alias_group(static_cast<uint32_t>(parameter.alias_group));
    for (const Extent& extent : parameter.type.shape()) FillAxis(view->add_axes(), extent);
  }
  for (const wire::Variant& variant : facts.variants) *manifest.add_variants() = variant;
  manifest.set_minimum_cuda(facts.minimum_cuda);
  for (const ReportLine& line : report) {
    wire::ReportLine* out = manifest.add_report();
    out->set_stage(std::string(NameOf(line.topic)));
    if (line.ordinal != kNoOrdinal) out->set_ordinal(line.ordinal);
    out->set_text(line.text);
  }
  return manifest.SerializeAsString();
}

}  // namespace intent
