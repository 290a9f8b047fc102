#pragma once

// What every process of ours does first: no core dumps, not dumpable (memory holds tenants' data),
// no new privileges by exec.

#include <vector>

namespace intent {

void HardenProcess();

// Ends this process when its parent dies, however that happens.
void DieWithParent();

// Closes all descriptors from `first` up but `kept`.
void CloseFrom(int first, std::vector<int> kept = {});

}  // namespace intent
