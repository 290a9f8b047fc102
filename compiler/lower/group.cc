// Row groups: the stages of a group run row block by row block, so that a row is read from memory
// once.

#include "compiler/lower/lowerer.h"

namespace intent::lower {

bool Lowerer::LowerGroup(const Block&, size_t, size_t*) { return false; }

}  // namespace intent::lower
