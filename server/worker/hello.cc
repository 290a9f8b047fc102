#include "server/worker/hello.h"

#include "compiler/driver/compile.h"
#include "compiler/target/target.h"
#include "server/ipc/frame_version.h"

namespace intent {

worker::v1::FromWorker MakeHello() {
  worker::v1::FromWorker frame;
  worker::v1::WorkerHello& hello = *frame.mutable_hello();
  hello.set_frame_version(kFrameVersion);
  hello.set_fingerprint(CompilerFingerprint());
  for (const char* name : {"interp", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    if (ParseTarget(name).ok()) hello.add_targets(name);
  }
  hello.set_host_target(HostTarget().ToString());
  return frame;
}

worker::v1::FromWorker MakeCudaHello(const absl::StatusOr<std::unique_ptr<cuda::Nvrtc>>& nvrtc) {
  worker::v1::FromWorker frame;
  worker::v1::WorkerHello& hello = *frame.mutable_hello();
  hello.set_frame_version(kFrameVersion);
  if (!nvrtc.ok()) {
    hello.set_missing(std::string(nvrtc.status().message()));
    return frame;
  }
  hello.set_fingerprint(CudaFingerprint(**nvrtc));
  hello.set_nvrtc_version((*nvrtc)->VersionText());
  for (const std::string& name : CudaTargets()) {
    if ((*nvrtc)->Knows(name)) hello.add_targets(name);
  }
  return frame;
}

}  // namespace intent
