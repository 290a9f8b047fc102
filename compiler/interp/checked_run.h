#pragma once

// The state of a checked run. Private to this folder; a run that is not checked has none.

#include "compiler/interp/interp.h"
#include "compiler/interp/parallel_tasks.h"
#include "compiler/interp/relaxed_scores.h"
#include "compiler/interp/shadow_memory.h"

namespace intent::interp {

struct CheckedRun {
  CheckedRun(const Module& module, const Options& options)
      : budget(options.record_limit), tasks(&budget) {
    if (options.relaxed_normalization) scores = FindRelaxedScores(module);
  }

  MemoryBudget budget;  // of records; buffers' regions count in it too
  ParallelTasks tasks;
  RelaxedScores scores;  // empty without relaxed_normalization
};

}  // namespace intent::interp
