// A CUDA driver for tests on hosts without a GPU: libcuda.so.1 with the part of the driver API that
// compiler/cuda_runtime uses, on host memory. Two devices of capability 9.0; CUDA_VISIBLE_DEVICES
// picks among them. A "cubin" is a text that begins with "fake cubin", whose functions are those of
// fake_kernels.cc, or a kernel of the software GPU (software_kernels.h).
//
// As with a real device, work of a stream happens later: a launch succeeds, and what goes wrong in
// it shows at the next call that waits. A fault ends the context: every later call gives its error.

#include "tests/support/fake_cuda/fake_cuda.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "compiler/cuda_runtime/driver.h"
#include "tests/support/fake_cuda/fake_kernels.h"
#include "tests/support/fake_cuda/software_kernels.h"

namespace {

using intent::gpu::Context;
using intent::gpu::DevicePointer;
using intent::gpu::Event;
using intent::gpu::Function;
using intent::gpu::Module;
using intent::gpu::Result;
using intent::gpu::Stream;
using intent::gpu::Uuid;

constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidImage = 200,
                 kInvalidContext = 201, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600;

constexpr int kDevices = 2;
constexpr int kBlocksPerMultiprocessor = 2, kMultiprocessors = 4;

using Work = std::function<Result()>;  // kRunning: call it again

struct FakeStream {
  unsigned long long id = 0;
  std::deque<Work> work;
};

struct FakeFunction {
  fake_cuda::Kernel kernel;
  int max_dynamic_shared = 48 << 10;
};

struct FakeModule {
  std::unique_ptr<fake_cuda::SoftwareKernels> software;  // null: those of fake_kernels.cc
  std::map<std::string, FakeFunction> functions;
};

struct Allocation {
  size_t bytes = 0;
  int device = 0;
};

// Everything, under one lock.
struct Fake {
  std::recursive_mutex mutex;
  std::map<int, int> retained;  // by device
  Result lost = kSuccess;       // why the context works no more
  std::map<void*, FakeStream> streams;
  unsigned long long next_stream_id = 10;
  std::set<FakeModule*> modules;
  std::map<DevicePointer, Allocation> allocations;
  size_t bytes = 0, memory = size_t{1} << 30;
  size_t launches = 0, waits = 0;
  bool capturing = false;

  FakeStream* Find(Stream stream) {
    void* handle = stream == nullptr ? reinterpret_cast<void*>(1) : stream;
    if (handle == reinterpret_cast<void*>(1) || handle == reinterpret_cast<void*>(2)) {
      FakeStream& found = streams[handle];
      found.id = reinterpret_cast<uintptr_t>(handle);
      return &found;
    }
    const auto found = streams.find(handle);
    return found == streams.end() ? nullptr : &found->second;
  }

  // Does what it can of a stream's work.
  Result Drain(FakeStream& stream) {
    while (lost == kSuccess && !stream.work.empty()) {
      const Result result = stream.work.front()();
      if (result == fake_cuda::kRunning) return kNotReady;
      stream.work.pop_front();
      if (result != kSuccess) lost = result;
    }
    return lost;
  }
};

Fake& TheFake() {
  static Fake* const kFake = new Fake;
  return *kFake;
}

thread_local Context current = nullptr;

Context ContextOf(int device) {
  return reinterpret_cast<Context>(static_cast<uintptr_t>(0x1000 + device));
}
int CurrentDevice() { return static_cast<int>(reinterpret_cast<uintptr_t>(current) - 0x1000); }

std::vector<int> VisibleDevices() {
  std::vector<int> visible;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int device = 0; device < kDevices; ++device) visible.push_back(device);
    return visible;
  }
  for (const char* p = list; *p >= '0' && *p < '0' + kDevices; ++p) {
    visible.push_back(*p - '0');
    if (p[1] == ',') ++p;
  }
  return visible;
}

// The start of every call that needs a working context.
#define REQUIRE_CONTEXT()                         \
  Fake& fake = TheFake();                         \
  std::lock_guard lock(fake.mutex);               \
  if (current == nullptr) return kInvalidContext; \
  if (fake.lost != kSuccess) return fake.lost

// Waits for a stream without keeping others out.
Result WaitFor(Stream handle) {
  Fake& fake = TheFake();
  {
    std::lock_guard lock(fake.mutex);
    ++fake.waits;
  }
  while (true) {
    {
      std::lock_guard lock(fake.mutex);
      FakeStream* const stream = fake.Find(handle);
      if (stream == nullptr) return kInvalidHandle;
      if (const Result result = fake.Drain(*stream); result != kNotReady) return result;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result Allocate(DevicePointer* pointer, size_t bytes) {
  Fake& fake = TheFake();
  if (bytes == 0) return kInvalidValue;
  if (fake.bytes + bytes > fake.memory) return kOutOfMemory;
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xcd, bytes);  // nobody has zeroed it
  *pointer = reinterpret_cast<DevicePointer>(memory);
  fake.allocations[*pointer] = {bytes, CurrentDevice()};
  fake.bytes += bytes;
  return kSuccess;
}

Result Free(DevicePointer pointer) {
  Fake& fake = TheFake();
  const auto found = fake.allocations.find(pointer);
  if (found == fake.allocations.end()) return kInvalidValue;
  fake.bytes -= found->second.bytes;
  fake.allocations.erase(found);
  std::free(reinterpret_cast<void*>(pointer));
  return kSuccess;
}

const Allocation* Holding(DevicePointer pointer, size_t bytes) {
  Fake& fake = TheFake();
  auto found = fake.allocations.upper_bound(pointer);
  if (found == fake.allocations.begin()) return nullptr;
  --found;
  if (pointer + bytes > found->first + found->second.bytes) return nullptr;
  return &found->second;
}

Result Enqueue(Stream handle, Work work) {
  FakeStream* const stream = TheFake().Find(handle);
  if (stream == nullptr) return kInvalidHandle;
  stream->work.push_back(std::move(work));
  return kSuccess;
}

Result LaunchAny(Function handle, const unsigned* grid, const unsigned* block, unsigned shared,
                 Stream stream, void** parameters, bool cooperative) {
  REQUIRE_CONTEXT();
  const auto& function = *reinterpret_cast<FakeFunction*>(handle);
  if (static_cast<int>(shared) > function.max_dynamic_shared) return kInvalidValue;
  fake_cuda::Launch launch;
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || block[i] == 0) return kInvalidValue;
    launch.grid[i] = grid[i];
    launch.block[i] = block[i];
  }
  if (cooperative && grid[0] > kBlocksPerMultiprocessor * kMultiprocessors) return 720;
  launch.shared_bytes = shared;
  launch.cooperative = cooperative;
  const auto* words = static_cast<const uint64_t*>(parameters[0]);
  launch.words.assign(words, words + function.kernel.words);
  ++fake.launches;
  return Enqueue(stream, [run = function.kernel.run, launch] { return run(launch); });
}

}  // namespace

extern "C" {

void fake_cuda_statistics_now(fake_cuda_statistics* statistics) {
  Fake& fake = TheFake();
  std::lock_guard lock(fake.mutex);
  *statistics = {fake.launches, fake.allocations.size(), fake.bytes, fake.modules.size(),
                 fake.waits};
}

void fake_cuda_set_capturing(int capturing) { TheFake().capturing = capturing != 0; }

void fake_cuda_set_memory(size_t bytes) { TheFake().memory = bytes; }

Result cuInit(unsigned) { return VisibleDevices().empty() ? 100 : kSuccess; }

Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

Result cuGetErrorName(Result error, const char** name) {
  *name = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OF_THE_FAKE";
  return kSuccess;
}

Result cuGetErrorString(Result error, const char** text) {
  *text = error == 700   ? "an illegal memory access was encountered"
          : error == 100 ? "no CUDA-capable device is detected"
                         : "an error of the fake driver";
  return kSuccess;
}

Result cuDeviceGetCount(int* count) {
  *count = static_cast<int>(VisibleDevices().size());
  return kSuccess;
}

Result cuDeviceGet(int* device, int ordinal) {
  const std::vector<int> visible = VisibleDevices();
  if (ordinal < 0 || ordinal >= static_cast<int>(visible.size())) return 101;
  *device = visible[ordinal];
  return kSuccess;
}

Result cuDeviceGetName(char* name, int size, int device) {
  std::snprintf(name, size, "Fake GPU %c", 'A' + device);
  return kSuccess;
}

Result cuDeviceGetUuid_v2(Uuid* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<unsigned char>(16 * (device + 10) + i);
  return kSuccess;
}

Result cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = TheFake().memory;
  return kSuccess;
}

Result cuDeviceGetAttribute(int* value, int attribute, int) {
  static const std::map<int, int> kValues = {
      {16, kMultiprocessors}, {75, 9}, {76, 0}, {95, 1}, {97, 227 << 10}};
  const auto found = kValues.find(attribute);
  if (found == kValues.end()) return kInvalidValue;
  *value = found->second;
  return kSuccess;
}

Result cuDevicePrimaryCtxRetain(Context* context, int device) {
  Fake& fake = TheFake();
  std::lock_guard lock(fake.mutex);
  ++fake.retained[device];
  *context = ContextOf(device);
  return kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(int device) {
  Fake& fake = TheFake();
  std::lock_guard lock(fake.mutex);
  return fake.retained[device]-- > 0 ? kSuccess : kInvalidContext;
}

Result cuCtxGetCurrent(Context* context) {
  *context = current;
  return kSuccess;
}

Result cuCtxSetCurrent(Context context) {
  current = context;
  return kSuccess;
}

Result cuCtxSynchronize() {
  if (current == nullptr) return kInvalidContext;
  std::vector<Stream> streams;
  {
    Fake& fake = TheFake();
    std::lock_guard lock(fake.mutex);
    if (fake.lost != kSuccess) return fake.lost;
    for (const auto& [handle, stream] : fake.streams) {
      streams.push_back(static_cast<Stream>(handle));
    }
  }
  for (const Stream stream : streams) {
    if (const Result result = WaitFor(stream); result != kSuccess) return result;
  }
  return kSuccess;
}

Result cuModuleLoadData(Module* module, const void* image) {
  REQUIRE_CONTEXT();
  auto made_here = std::make_unique<FakeModule>();
  if (std::strncmp(static_cast<const char*>(image), "fake cubin", 10) != 0) {
    made_here->software = fake_cuda::SoftwareKernels::Load(image);
    if (made_here->software == nullptr) return kInvalidImage;
  }
  FakeModule* const made = made_here.release();
  fake.modules.insert(made);
  *module = reinterpret_cast<Module>(made);
  return kSuccess;
}

Result cuModuleUnload(Module module) {
  REQUIRE_CONTEXT();
  auto* const known = reinterpret_cast<FakeModule*>(module);
  if (fake.modules.erase(known) == 0) return kInvalidHandle;
  delete known;
  return kSuccess;
}

Result cuModuleGetFunction(Function* function, Module handle, const char* name) {
  REQUIRE_CONTEXT();
  FakeModule* const module = reinterpret_cast<FakeModule*>(handle);
  const std::optional<fake_cuda::Kernel> kernel =
      module->software == nullptr ? fake_cuda::FindKernel(name) : module->software->Find(name);
  if (!kernel.has_value()) return kNotFound;
  module->functions[name].kernel = *kernel;
  *function = reinterpret_cast<Function>(&module->functions[name]);
  return kSuccess;
}

Result cuFuncSetAttribute(Function function, int attribute, int value) {
  REQUIRE_CONTEXT();
  if (attribute != 8) return kInvalidValue;
  reinterpret_cast<FakeFunction*>(function)->max_dynamic_shared = value;
  return kSuccess;
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function, int, size_t) {
  REQUIRE_CONTEXT();
  *blocks = kBlocksPerMultiprocessor;
  return kSuccess;
}

Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      Stream stream, void** parameters, void**) {
  const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
  return LaunchAny(function, grid, block, shared_bytes, stream, parameters, false);
}

Result cuLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, Stream stream,
                                 void** parameters) {
  const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
  return LaunchAny(function, grid, block, shared_bytes, stream, parameters, true);
}

Result cuMemAlloc_v2(DevicePointer* pointer, size_t bytes) {
  REQUIRE_CONTEXT();
  return Allocate(pointer, bytes);
}

// After what was launched before, as the driver's.
Result cuMemFree_v2(DevicePointer pointer) {
  REQUIRE_CONTEXT();
  for (auto& [handle, stream] : fake.streams) fake.Drain(stream);
  return Free(pointer);
}

Result cuMemAllocAsync(DevicePointer* pointer, size_t bytes, Stream) {
  REQUIRE_CONTEXT();
  return Allocate(pointer, bytes);
}

Result cuMemFreeAsync(DevicePointer pointer, Stream stream) {
  REQUIRE_CONTEXT();
  return Enqueue(stream, [pointer] { return Free(pointer); });
}

Result cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
  REQUIRE_CONTEXT();
  *pointer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return kSuccess;
}

Result cuMemFreeHost(void* pointer) {
  std::free(pointer);
  return kSuccess;
}

Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, Stream stream) {
  REQUIRE_CONTEXT();
  if (Holding(to, bytes) == nullptr) return kInvalidValue;
  const auto* data = static_cast<const char*>(from);
  return Enqueue(stream, [to, content = std::vector<char>(data, data + bytes)] {
    std::memcpy(reinterpret_cast<void*>(to), content.data(), content.size());
    return kSuccess;
  });
}

// Into pageable memory: when it returns the copy has happened.
Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, Stream stream) {
  {
    REQUIRE_CONTEXT();
    if (Holding(from, bytes) == nullptr) return kInvalidValue;
  }
  if (const Result result = WaitFor(stream); result != kSuccess) return result;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

Result cuMemsetD8Async(DevicePointer to, unsigned char value, size_t bytes, Stream stream) {
  REQUIRE_CONTEXT();
  if (Holding(to, bytes) == nullptr) return kInvalidValue;
  return Enqueue(stream, [to, value, bytes] {
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return kSuccess;
  });
}

Result cuPointerGetAttribute(void* value, int attribute, DevicePointer pointer) {
  Fake& fake = TheFake();
  std::lock_guard lock(fake.mutex);
  const Allocation* const allocation = Holding(pointer, 0);
  if (attribute != 9 || allocation == nullptr) return kInvalidValue;
  const std::vector<int> visible = VisibleDevices();
  for (size_t i = 0; i < visible.size(); ++i) {
    if (visible[i] == allocation->device) *static_cast<int*>(value) = static_cast<int>(i);
  }
  return kSuccess;
}

Result cuStreamCreate(Stream* stream, unsigned) {
  REQUIRE_CONTEXT();
  void* const handle = std::malloc(8);
  fake.streams[handle].id = fake.next_stream_id++;
  *stream = static_cast<Stream>(handle);
  return kSuccess;
}

Result cuStreamDestroy_v2(Stream stream) {
  Fake& fake = TheFake();
  std::lock_guard lock(fake.mutex);
  FakeStream* const found = fake.Find(stream);
  if (found == nullptr) return kInvalidHandle;
  fake.Drain(*found);
  fake.streams.erase(stream);
  std::free(stream);
  return kSuccess;
}

Result cuStreamSynchronize(Stream stream) {
  { REQUIRE_CONTEXT(); }
  return WaitFor(stream);
}

Result cuStreamIsCapturing(Stream, int* status) {
  REQUIRE_CONTEXT();
  *status = fake.capturing ? 1 : 0;
  return kSuccess;
}

Result cuStreamGetId(Stream stream, unsigned long long* id) {
  REQUIRE_CONTEXT();
  FakeStream* const found = fake.Find(stream);
  if (found == nullptr) return kInvalidHandle;
  *id = found->id;
  return kSuccess;
}

// What was recorded runs at once, so that whoever waits for it may go on.
Result cuEventCreate(Event* event, unsigned) {
  *event = static_cast<Event>(std::malloc(8));
  return kSuccess;
}

Result cuEventRecord(Event, Stream stream) {
  REQUIRE_CONTEXT();
  FakeStream* const found = fake.Find(stream);
  if (found == nullptr) return kInvalidHandle;
  fake.Drain(*found);
  return kSuccess;
}

Result cuStreamWaitEvent(Stream stream, Event, unsigned) {
  REQUIRE_CONTEXT();
  return fake.Find(stream) == nullptr ? kInvalidHandle : kSuccess;
}

Result cuEventDestroy_v2(Event event) {
  std::free(event);
  return kSuccess;
}
}
