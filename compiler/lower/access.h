#pragma once

// One index relation with its operands bound.

#include "compiler/lower/lowerer.h"

namespace intent::lower {

struct Lowerer::Relation {
  const Op* op = nullptr;
  const IndexAttr* attr = nullptr;
  Binding source;  // resource or tensor
  ValueId source_value = kNoValue;
  Type source_type;
  std::vector<std::vector<Binding>> operands;  // by term
  std::vector<std::vector<ValueId>> values;
  int joint_rank = -1;  // of the merged axes of tensor indices; -1: there are none
  int parameter = -1;   // position among views, for errors
  ValueId valid = kNoValue;
  ValueId fill = kNoValue;
  // The stage's own mask, where `valid` narrowed the context's: index tensors are read under this
  // one.
  bool outer_mask_known = false;
  Id outer_mask = kNoId;
  bool outer_guarded = false;

  // The axis of the source that a term indexes.
  int SourceAxis(size_t term) const {
    int axis = 0;
    for (size_t i = 0; i < term; ++i)
      axis += attr->terms[i].kind == IndexTermKind::kNewAxis ? 0 : 1;
    return axis;
  }
};

}  // namespace intent::lower
