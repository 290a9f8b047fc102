#pragma once

// Test support: a block of threads on this machine. Every thread is a fiber of one host thread,
// which runs until it waits for the others. Blocks run one after the other. For headers of the
// device library whose every machine instruction is replaced by a function over the entries below.
//
// Failures (a misaligned or out of range access to shared memory, threads that wait for each other
// for ever) abort the process.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace emulation {

// Runs `thread` once for every thread of a block with so many bytes of shared memory, which starts
// as garbage.
void RunBlock(int threads, int shared_bytes, const std::function<void(char* shared)>& thread);

// Of the running thread:
int Thread();
inline int Lane() { return Thread() % 32; }
void WaitForBlock();
void WaitForWarp();

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

struct ThreadIndex {
  struct {
    operator int() const { return Thread(); }
  } x;
};

}  // namespace emulation

inline constexpr emulation::ThreadIndex threadIdx{};
inline void __syncthreads() { emulation::WaitForBlock(); }
