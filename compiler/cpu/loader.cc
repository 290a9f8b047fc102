#include "compiler/cpu/loader.h"

#include <elf.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "compiler/cpu/imports.h"
#include "compiler/cpu/llvm_status.h"

namespace intent::cpu {
namespace {

namespace orc = llvm::orc;

// A relocatable ELF object for this host's architecture.
bool IsForHost(std::string_view object) {
#if defined(__x86_64__)
  constexpr Elf64_Half kMachine = EM_X86_64;
#else
  constexpr Elf64_Half kMachine = EM_AARCH64;
#endif
  Elf64_Ehdr header;
  if (object.size() < sizeof(header)) return false;
  std::memcpy(&header, object.data(), sizeof(header));
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_REL &&
         header.e_machine == kMachine;
}

// Code is placed in slabs of this size: few memory mappings, and an error instead of a crash where
// the system has no more.
constexpr size_t kSlabBytes = size_t{64} << 20;

struct Session {
  std::unique_ptr<orc::LLJIT> jit;
  orc::JITDylib* imports = nullptr;
  std::atomic<uint64_t> loaded{0};
};

absl::StatusOr<Session*> MakeSession() {
  InitializeLlvm();
  auto session = std::make_unique<Session>();
  const auto layer = [](orc::ExecutionSession& execution,
                        const llvm::Triple&) -> llvm::Expected<std::unique_ptr<orc::ObjectLayer>> {
    auto memory =
        orc::MapperJITLinkMemoryManager::CreateWithMapper<orc::InProcessMemoryMapper>(kSlabBytes);
    if (!memory) return memory.takeError();
    return std::make_unique<orc::ObjectLinkingLayer>(execution, std::move(*memory));
  };
  // Failures travel in statuses; ORC would also write them to stderr.
  auto jit = orc::LLJITBuilder()
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .setObjectLinkingLayerCreator(layer)
                 .create();
  if (!jit) return ToStatus(absl::StatusCode::kInternal, jit.takeError());
  session->jit = std::move(*jit);
  orc::ExecutionSession& execution = session->jit->getExecutionSession();
  execution.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });

  auto imports = session->jit->createJITDylib("imports");
  if (!imports) return ToStatus(absl::StatusCode::kInternal, imports.takeError());
  session->imports = &*imports;
  orc::SymbolMap symbols;
  for (const Import& import : AllowedImports()) {
    symbols[session->jit->mangleAndIntern(std::string(import.name))] = {
        orc::ExecutorAddr::fromPtr(import.address), llvm::JITSymbolFlags::Exported};
  }
  if (llvm::Error error = session->imports->define(orc::absoluteSymbols(std::move(symbols)))) {
    return ToStatus(absl::StatusCode::kInternal, std::move(error));
  }
  return session.release();
}

// Lives as long as the process: kernels may be freed by destructors of statics.
absl::StatusOr<Session*> SharedSession() {
  static const auto* const kSession = new absl::StatusOr<Session*>(MakeSession());
  return *kSession;
}

class OrcKernel final : public LoadedKernel {
 public:
  OrcKernel(Session* session, orc::JITDylib* dylib) : session_(session), dylib_(dylib) {}
  ~OrcKernel() override {
    llvm::consumeError(session_->jit->getExecutionSession().removeJITDylib(*dylib_));
  }
  intent_entry entry() const override { return entry_; }
  void set_entry(intent_entry entry) { entry_ = entry; }

 private:
  Session* const session_;
  orc::JITDylib* const dylib_;
  intent_entry entry_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedKernel>> LoadObject(std::string_view object,
                                                         const std::string& entry_symbol) {
  if (!IsForHost(object)) {
    return absl::InvalidArgumentError("not a relocatable ELF object for this host");
  }
  auto session = SharedSession();
  if (!session.ok()) return session.status();
  orc::LLJIT& jit = *(*session)->jit;
  orc::JITDylib& dylib = jit.getExecutionSession().createBareJITDylib(
      absl::StrCat("kernel.", (*session)->loaded.fetch_add(1)));
  dylib.addToLinkOrder(*(*session)->imports);
  auto kernel = std::make_unique<OrcKernel>(*session, &dylib);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()),
                                                     dylib.getName());
  if (llvm::Error error = jit.addObjectFile(dylib, std::move(buffer))) {
    return ToStatus(absl::StatusCode::kInvalidArgument, std::move(error));
  }
  auto address = jit.lookup(dylib, entry_symbol);
  if (!address) return ToStatus(absl::StatusCode::kInvalidArgument, address.takeError());
  kernel->set_entry(address->toPtr<intent_entry>());
  return kernel;
}

}  // namespace intent::cpu
