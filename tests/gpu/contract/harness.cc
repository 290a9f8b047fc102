// Checks and times the device library's matrix products on the GPU of this machine. Takes the
// folder of its cubins and kernels.txt; prints each failure, the resources of each kernel and a
// table of times beside cuBLAS. Ends with 0 if every check passed. libcuda and cuBLAS are opened at
// run time.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "harness: %s\n", what.c_str());
  std::exit(2);
}
void* Library(const std::vector<std::string>& names) {
  std::string errors;
  for (const std::string& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
    errors += std::string("\n  ") + dlerror();
  }
  Die("no " + names[0] + errors);
}
void* Symbol(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) Die(std::string("no ") + name);
  return symbol;
}
void Check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) Die(std::string(what) + " failed: " + std::to_string(result));
}

#define DRIVER(X)                                                                                  \
  X(cuInit, cuInit)                                                                                \
  X(cuDeviceGet, cuDeviceGet) X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                \
      X(cuCtxSetCurrent, cuCtxSetCurrent) X(cuDeviceGetAttribute, cuDeviceGetAttribute) X(         \
          cuMemAlloc, cuMemAlloc_v2) X(cuMemFree, cuMemFree_v2) X(cuMemsetD8, cuMemsetD8_v2)       \
          X(cuMemcpyDtoH, cuMemcpyDtoH_v2) X(cuMemcpyHtoD, cuMemcpyHtoD_v2) X(                     \
              cuModuleLoadData, cuModuleLoadData) X(cuModuleGetFunction, cuModuleGetFunction)      \
              X(cuModuleGetGlobal, cuModuleGetGlobal_v2) X(cuFuncSetAttribute, cuFuncSetAttribute) \
                  X(cuFuncGetAttribute, cuFuncGetAttribute)                                        \
                      X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                               \
                        cuOccupancyMaxActiveBlocksPerMultiprocessor)                               \
                          X(cuLaunchKernel, cuLaunchKernel) X(cuCtxSynchronize, cuCtxSynchronize)  \
                              X(cuEventCreate, cuEventCreate) X(cuEventRecord, cuEventRecord)      \
                                  X(cuEventSynchronize, cuEventSynchronize)                        \
                                      X(cuEventElapsedTime, cuEventElapsedTime_v2)
#undef cuMemAlloc
#undef cuMemFree
#undef cuMemsetD8
#undef cuMemcpyDtoH
#undef cuMemcpyHtoD
#undef cuModuleGetGlobal
#undef cuEventElapsedTime
#define FIELD(name, symbol) decltype(&::symbol) name;
struct Driver {
  DRIVER(FIELD)
} driver;
#undef FIELD
typedef cublasStatus_t GemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                              const void*, const void*, cudaDataType, int, const void*,
                              cudaDataType, int, const void*, void*, cudaDataType, int,
                              cublasComputeType_t, cublasGemmAlgo_t);
#define BLAS_LT(X)                                                                \
  X(cublasLtCreate)                                                               \
  X(cublasLtMatmul) X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescSetAttribute) \
      X(cublasLtMatrixLayoutCreate) X(cublasLtMatmulPreferenceCreate)             \
          X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic)
#define FIELD(name) decltype(&::name) name;
struct Blas {
  decltype(&::cublasCreate_v2) cublasCreate_v2;
  GemmEx* cublasGemmEx;
  BLAS_LT(FIELD)
} blas;
#undef FIELD
cublasHandle_t blas_handle;
cublasLtHandle_t blas_lt_handle;
CUdeviceptr workspace;
constexpr size_t kWorkspaceBytes = 64 << 20;
int processors = 0;

void Open() {
  void* cuda = Library({"libcuda.so.1"});
#define BIND(name, symbol) \
  driver.name = reinterpret_cast<decltype(driver.name)>(Symbol(cuda, #symbol));
  DRIVER(BIND)
#undef BIND
  Check(driver.cuInit(0), "cuInit");
  CUdevice device;
  CUcontext context;
  Check(driver.cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  driver.cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  std::vector<std::string> lt = {"libcublasLt.so.13"}, names = {"libcublas.so.13"};
  if (const char* folder = std::getenv("CUBLAS_FOLDER")) {
    lt.insert(lt.begin(), std::string(folder) + "/libcublasLt.so.13");
    names.insert(names.begin(), std::string(folder) + "/libcublas.so.13");
  }
  void* blas_lt_library = Library(lt);
  void* blas_library = Library(names);
  blas.cublasCreate_v2 =
      reinterpret_cast<decltype(blas.cublasCreate_v2)>(Symbol(blas_library, "cublasCreate_v2"));
  blas.cublasGemmEx = reinterpret_cast<GemmEx*>(Symbol(blas_library, "cublasGemmEx"));
#define BIND(name) \
  blas.name = reinterpret_cast<decltype(blas.name)>(Symbol(blas_lt_library, #name));
  BLAS_LT(BIND)
#undef BIND
  if (blas.cublasCreate_v2(&blas_handle) != 0 || blas.cublasLtCreate(&blas_lt_handle) != 0) {
    Die("cublasCreate failed");
  }
  Check(driver.cuMemAlloc(&workspace, kWorkspaceBytes), "cuMemAlloc");
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Die("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Kernel {
  std::string name, left, right;
  bool left_inner, right_inner;
  CUfunction function;
  int rows, columns, threads, shared, resident;
};

int Size(const std::string& type) {
  if (type == "f64") return 8;
  if (type == "f32") return 4;
  return type == "f16" || type == "bf16" ? 2 : 1;
}
int SumSize(const std::string& type) { return type == "f64" ? 8 : 4; }

std::string Trim(std::string s) {
  s.erase(0, s.find_first_not_of(' '));
  s.erase(s.find_last_not_of(' ') + 1);
  return s;
}

std::vector<Kernel> Load(const std::string& folder) {
  std::vector<Kernel> kernels;
  std::istringstream list(Read(folder + "/kernels.txt"));
  std::printf("%-20s %9s %8s %7s %7s %6s %9s\n", "kernel", "tile", "threads", "shared", "regs",
              "local", "blocks/SM");
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string name, left, right, axes;
    std::getline(fields, name, '|');
    std::getline(fields, left, '|');
    std::getline(fields, right, '|');
    std::getline(fields, axes, '|');
    axes = Trim(axes);
    Kernel kernel{Trim(name), Trim(left), Trim(right), axes.rfind("inner", 0) == 0,
                  axes.size() > 5 && axes.substr(axes.find(' ') + 1) == "inner"};
    CUmodule module;
    const std::string cubin = Read(folder + "/" + kernel.name + ".cubin");
    Check(driver.cuModuleLoadData(&module, cubin.data()), kernel.name.c_str());
    Check(driver.cuModuleGetFunction(&kernel.function, module, "product"), "cuModuleGetFunction");
    CUdeviceptr facts;
    size_t bytes;
    int host[4];
    Check(driver.cuModuleGetGlobal(&facts, &bytes, module, "facts"), "cuModuleGetGlobal");
    Check(driver.cuMemcpyDtoH(host, facts, sizeof host), "cuMemcpyDtoH");
    kernel.rows = host[0], kernel.columns = host[1], kernel.threads = host[2],
    kernel.shared = host[3];
    Check(driver.cuFuncSetAttribute(kernel.function,
                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel.shared),
          "cuFuncSetAttribute");
    int registers, local;
    driver.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel.function);
    driver.cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel.function);
    Check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&kernel.resident, kernel.function,
                                                             kernel.threads, kernel.shared),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    std::printf("%-20s %4dx%-4d %8d %7d %7d %6d %9d\n", kernel.name.c_str(), kernel.rows,
                kernel.columns, kernel.threads, kernel.shared, registers, local, kernel.resident);
    kernels.push_back(kernel);
  }
  return kernels;
}

// A matrix of `own` by `inner` elements whose lines lie along one of the axes.
struct Operand {
  CUdeviceptr storage = 0, base = 0;
  int64_t own_stride, inner_stride;
};
struct Storage {
  int64_t step, gap, offset;  // elements
};
CUmodule check_module;

void Fill(const std::string& type, CUdeviceptr to, int64_t count, uint64_t seed, int kind) {
  CUfunction function;
  Check(driver.cuModuleGetFunction(&function, check_module, ("fill_" + type).c_str()), "fill");
  void* arguments[] = {&to, &count, &seed, &kind};
  Check(driver.cuLaunchKernel(function, 1024, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr),
        "fill");
}
Operand Make(const std::string& type, int64_t own, int64_t inner, bool along_inner, Storage storage,
             uint64_t seed, int kind) {
  const int64_t across = along_inner ? inner : own, lines = along_inner ? own : inner;
  const int64_t pitch = std::max<int64_t>(1, across * storage.step + storage.gap);
  const int64_t count = lines * pitch + storage.offset + 1;
  Operand operand;
  Check(driver.cuMemAlloc(&operand.storage, count * Size(type)), "cuMemAlloc");
  Fill(type, operand.storage, count, seed, kind);
  operand.base = operand.storage + storage.offset * Size(type);
  operand.own_stride = along_inner ? pitch : storage.step;
  operand.inner_stride = along_inner ? storage.step : pitch;
  return operand;
}

void Launch(const Kernel& kernel, int64_t m, int64_t n, int64_t k, const Operand& a,
            const Operand& b, CUdeviceptr out, int64_t out_stride) {
  struct {
    CUdeviceptr base;
    int64_t own_stride, inner_stride;
  } left{a.base, a.own_stride, a.inner_stride}, right{b.base, b.own_stride, b.inner_stride};
  struct {
    CUdeviceptr base;
    int64_t stride;
  } rows{out, out_stride};
  void* arguments[] = {&m, &n, &k, &left, &right, &rows};
  const int64_t tiles =
      ((m + kernel.rows - 1) / kernel.rows) * ((n + kernel.columns - 1) / kernel.columns);
  const int64_t grid = std::max<int64_t>(
      1, std::min<int64_t>(tiles, int64_t{processors} * std::max(1, kernel.resident)));
  Check(driver.cuLaunchKernel(kernel.function, grid, 1, 1, kernel.threads, 1, 1, kernel.shared,
                              nullptr, arguments, nullptr),
        kernel.name.c_str());
}

struct Verdict {
  uint32_t wrong, stray;
  float worst;
  uint32_t unused;
  int64_t first_wrong;
  double got, want, magnitudes;
};
const char* const kKinds[] = {"random", "positive", "constant", "special", "cancelling"};
int checks = 0, failures = 0;
std::map<std::string, float> worst;  // by operand type and kind

void CheckOne(const Kernel& kernel, int64_t m, int64_t n, int64_t k, Storage storage, int kind,
              int64_t samples) {
  const Operand a = Make(kernel.left, m, k, kernel.left_inner, storage, 11 + checks, kind);
  const Operand b = Make(kernel.right, n, k, kernel.right_inner, storage, 1011 + checks, kind);
  const int64_t out_stride = n + 3, bytes = m * out_stride * SumSize(kernel.left);
  CUdeviceptr out, verdict;
  Check(driver.cuMemAlloc(&out, bytes), "cuMemAlloc");
  Check(driver.cuMemAlloc(&verdict, sizeof(Verdict)), "cuMemAlloc");
  Check(driver.cuMemsetD8(out, 0xff, bytes), "cuMemsetD8");
  Check(driver.cuMemsetD8(verdict, 0, sizeof(Verdict)), "cuMemsetD8");
  Launch(kernel, m, n, k, a, b, out, out_stride);
  samples = std::min(samples, m * n);
  CUfunction judge;
  Check(driver.cuModuleGetFunction(&judge, check_module,
                                   ("judge_" + kernel.left + "_" + kernel.right).c_str()),
        "judge");
  void* arguments[] = {&m,
                       &n,
                       &k,
                       const_cast<CUdeviceptr*>(&a.base),
                       const_cast<int64_t*>(&a.own_stride),
                       const_cast<int64_t*>(&a.inner_stride),
                       const_cast<CUdeviceptr*>(&b.base),
                       const_cast<int64_t*>(&b.own_stride),
                       const_cast<int64_t*>(&b.inner_stride),
                       &out,
                       const_cast<int64_t*>(&out_stride),
                       &samples,
                       &verdict};
  Check(driver.cuLaunchKernel(judge, 2048, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr),
        "judge");
  Check(driver.cuCtxSynchronize(), kernel.name.c_str());
  Verdict host;
  Check(driver.cuMemcpyDtoH(&host, verdict, sizeof host), "cuMemcpyDtoH");
  ++checks;
  float& most = worst[kernel.left + " " + kKinds[kind] + " k=" + std::to_string(k)];
  most = std::max(most, host.worst);
  if (host.wrong != 0 || host.stray != 0) {
    ++failures;
    std::printf(
        "FAILED %s %ldx%ldx%ld step %ld gap %ld offset %ld %s: %u wrong of %ld, %u stray; at (%ld, "
        "%ld) %.17g instead of %.17g, sum of magnitudes %g\n",
        kernel.name.c_str(), m, n, k, storage.step, storage.gap, storage.offset, kKinds[kind],
        host.wrong, samples, host.stray, n > 0 ? host.first_wrong / n : 0,
        n > 0 ? host.first_wrong % n : 0, host.got, host.want, host.magnitudes);
    std::fflush(stdout);
  }
  driver.cuMemFree(a.storage);
  driver.cuMemFree(b.storage);
  driver.cuMemFree(out);
  driver.cuMemFree(verdict);
}

void CheckAll(const Kernel& kernel) {
  const int64_t shapes[][3] = {{1, 1, 1},      {3, 5, 0},       {16, 16, 16},   {17, 33, 65},
                               {127, 129, 63}, {128, 256, 192}, {300, 260, 520}};
  const Storage storages[] = {{1, 0, 0}, {1, 1, 1}, {1, 16, 0}, {2, 0, 0}};
  for (const auto& s : shapes) {
    for (const Storage& storage : storages) {
      CheckOne(kernel, s[0], s[1], s[2], storage, 0, 1 << 30);
    }
    for (int kind = 1; kind < 5; ++kind)
      CheckOne(kernel, s[0], s[1], s[2], storages[0], kind, 1 << 30);
  }
  CheckOne(kernel, 4097, 4095, 4099, storages[0], 0, 1 << 16);
  for (int kind = 0; kind < 3; ++kind) {
    CheckOne(kernel, 256, 256, 4096, storages[0], kind, 1 << 14);
    CheckOne(kernel, 128, 128, 65536, storages[0], kind, 1 << 11);
  }
}

CUevent start, stop;
template <class F>
double Milliseconds(const F& once) {
  once();
  Check(driver.cuCtxSynchronize(), "warm-up");
  std::vector<float> times;
  for (int repeat = 0; repeat < 7; ++repeat) {
    driver.cuEventRecord(start, nullptr);
    for (int i = 0; i < 3; ++i) once();
    driver.cuEventRecord(stop, nullptr);
    driver.cuEventSynchronize(stop);
    float time;
    Check(driver.cuEventElapsedTime(&time, start, stop), "timing");
    times.push_back(time / 3);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

cudaDataType_t BlasType(const std::string& type) {
  if (type == "bf16") return CUDA_R_16BF;
  if (type == "f16") return CUDA_R_16F;
  if (type == "f32") return CUDA_R_32F;
  if (type == "f64") return CUDA_R_64F;
  if (type == "i8") return CUDA_R_8I;
  return type == "f8e4m3fn" ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

// cuBLAS sees the transposed product: its columns are our rows. 0 where it has no such product.
double BlasMilliseconds(const Kernel& kernel, int64_t m, int64_t n, int64_t k, const Operand& a,
                        const Operand& b, CUdeviceptr out) {
  const bool f8 = kernel.left[0] == 'f' && kernel.left[1] == '8';
  const auto ta = kernel.left_inner ? CUBLAS_OP_N : CUBLAS_OP_T;
  const auto tb = kernel.right_inner ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int64_t la = kernel.left_inner ? a.own_stride : a.inner_stride;
  const int64_t lb = kernel.right_inner ? b.own_stride : b.inner_stride;
  bool works = true;
  if (f8) {
    if (kernel.left != "f8e4m3fn" || !kernel.left_inner || !kernel.right_inner) return 0;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t left, right, result;
    cublasLtMatmulPreference_t preference;
    blas.cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const cublasOperation_t t = CUBLAS_OP_T;
    blas.cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t);
    blas.cublasLtMatrixLayoutCreate(&left, CUDA_R_8F_E4M3, k, n, lb);
    blas.cublasLtMatrixLayoutCreate(&right, CUDA_R_8F_E4M3, k, m, la);
    blas.cublasLtMatrixLayoutCreate(&result, CUDA_R_32F, n, m, n);
    blas.cublasLtMatmulPreferenceCreate(&preference);
    const size_t bytes = kWorkspaceBytes;
    blas.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &bytes, sizeof bytes);
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    blas.cublasLtMatmulAlgoGetHeuristic(blas_lt_handle, product, left, right, result, result,
                                        preference, 1, &found, &count);
    if (count == 0) return 0;
    const float one = 1, zero = 0;
    const double time = Milliseconds([&] {
      works &= blas.cublasLtMatmul(
                   blas_lt_handle, product, &one, reinterpret_cast<void*>(b.base), left,
                   reinterpret_cast<void*>(a.base), right, &zero, reinterpret_cast<void*>(out),
                   result, reinterpret_cast<void*>(out), result, &found.algo,
                   reinterpret_cast<void*>(workspace), kWorkspaceBytes, nullptr) == 0;
    });
    return works ? time : 0;
  }
  const bool integer = kernel.left == "i8", wide = kernel.left == "f64";
  const double done = 1, dzero = 0;
  const float fone = 1, fzero = 0;
  const int32_t ione = 1, izero = 0;
  const void* one = integer ? static_cast<const void*>(&ione)
                    : wide  ? static_cast<const void*>(&done)
                            : &fone;
  const void* zero = integer ? static_cast<const void*>(&izero)
                     : wide  ? static_cast<const void*>(&dzero)
                             : &fzero;
  const cublasComputeType_t compute = integer ? CUBLAS_COMPUTE_32I
                                      : wide  ? CUBLAS_COMPUTE_64F
                                              : CUBLAS_COMPUTE_32F;
  const cudaDataType_t sums = integer ? CUDA_R_32I : wide ? CUDA_R_64F : CUDA_R_32F;
  const double time = Milliseconds([&] {
    works &= blas.cublasGemmEx(blas_handle, tb, ta, n, m, k, one, reinterpret_cast<void*>(b.base),
                               BlasType(kernel.right), lb, reinterpret_cast<void*>(a.base),
                               BlasType(kernel.left), la, zero, reinterpret_cast<void*>(out), sums,
                               n, compute, CUBLAS_GEMM_DEFAULT) == 0;
  });
  return works ? time : 0;
}

void Time(const Kernel& kernel, int64_t m, int64_t n, int64_t k) {
  const Operand a = Make(kernel.left, m, k, kernel.left_inner, {1, 0, 0}, 5, 0);
  const Operand b = Make(kernel.right, n, k, kernel.right_inner, {1, 0, 0}, 6, 0);
  CUdeviceptr out;
  Check(driver.cuMemAlloc(&out, m * n * SumSize(kernel.left)), "cuMemAlloc");
  const double ours = Milliseconds([&] { Launch(kernel, m, n, k, a, b, out, n); });
  const double theirs = BlasMilliseconds(kernel, m, n, k, a, b, out);
  const double tera = 2.0 * m * n * k * 1e-9;
  std::printf("%-20s %5ldx%5ldx%5ld %9.3f ms %7.1f TFLOP/s", kernel.name.c_str(), m, n, k, ours,
              tera / ours);
  if (theirs > 0) std::printf("   cuBLAS %7.1f   %5.1f %%", tera / theirs, 100 * theirs / ours);
  std::printf("\n");
  std::fflush(stdout);
  driver.cuMemFree(a.storage);
  driver.cuMemFree(b.storage);
  driver.cuMemFree(out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) Die("usage: harness FOLDER [check|time] [NAME...]");
  const std::string folder = argv[1], what = argc > 2 ? argv[2] : "";
  Open();
  const std::string cubin = Read(folder + "/check.cubin");
  Check(driver.cuModuleLoadData(&check_module, cubin.data()), "check.cubin");
  driver.cuEventCreate(&start, 0);
  driver.cuEventCreate(&stop, 0);
  std::vector<Kernel> kernels = Load(folder);
  if (argc > 3) {
    std::erase_if(kernels, [&](const Kernel& kernel) {
      return std::find(argv + 3, argv + argc, kernel.name) == argv + argc;
    });
  }
  if (what != "time") {
    for (const Kernel& kernel : kernels) CheckAll(kernel);
    std::printf("\nerror over u * sum |a b|, at most (the bound is 32 + log2 k)\n");
    for (const auto& [name, value] : worst) {
      if (value > 0) std::printf("  %-40s %7.2f\n", name.c_str(), value);
    }
    std::printf("\n%d checks, %d failed\n\n", checks, failures);
    std::fflush(stdout);
  }
  if (what != "check") {
    for (const Kernel& kernel : kernels) {
      for (int64_t size : {1024, 4096, 8192}) Time(kernel, size, size, size);
      Time(kernel, 4097, 4095, 4099);
      if (kernel.rows == 16) Time(kernel, 16, 8192, 8192);
      if (kernel.columns == 16) Time(kernel, 8192, 16, 8192);
    }
  }
  return failures == 0 ? 0 : 1;
}
