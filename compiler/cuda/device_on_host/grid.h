#pragma once

// Test support: grids of threads on this machine. Every thread is a fiber that runs until it waits
// for others of its warp or block; a block is one host thread. Blocks of a cooperative launch run
// side by side, others as processors come free. For code of the device library whose every machine
// instruction is replaced by a function over the entries below.
//
// Failures (a misaligned or out of range access to shared memory, threads that wait for each other
// for ever) abort the process and say why.

#include <array>
#include <cstdint>
#include <functional>

namespace emulation {

struct Launch {
  int blocks = 1;
  int threads = 32;      // of a block
  int shared_bytes = 0;  // dynamic shared memory of a block; starts as garbage
  bool cooperative = false;
};

// Runs `thread` once for every thread. `shared` gives the memory that the running host thread lends
// to its block: kSharedLimit bytes, aligned to 1024.
constexpr int kSharedLimit = 228 << 10;
void RunGrid(const Launch& launch, char* (*shared)(), const std::function<void()>& thread);
// One block, on this host thread, with memory of its own.
void RunBlock(int threads, int shared_bytes, const std::function<void(char* shared)>& thread);

// Of the running thread:
int Thread();
inline int Lane() { return Thread() % 32; }
int Block();
const Launch& Grid();
void WaitForBlock();
void WaitForWarp();
// For one that polls memory which another block writes.
void LetOthersRun();

uint32_t SharedOffset(const void* shared);
// `bytes` must divide the offset.
char* Shared(uint32_t offset, int bytes);
void CheckAligned(const void* pointer, int bytes);

void CopyLater(uint32_t to, const void* from, int bytes, int valid);
void EndCopyGroup();
void WaitCopies(int pending);

// What each lane of the running warp brought.
char* WarpSlot(int lane);
constexpr int kWarpSlotBytes = 64;
template <class T>
std::array<T, 32> Exchange(const T& mine) {
  static_assert(sizeof(T) <= kWarpSlotBytes);
  *reinterpret_cast<T*>(WarpSlot(Lane())) = mine;
  WaitForWarp();
  std::array<T, 32> all;
  for (int lane = 0; lane < 32; ++lane) all[lane] = *reinterpret_cast<const T*>(WarpSlot(lane));
  WaitForWarp();
  return all;
}

}  // namespace emulation
