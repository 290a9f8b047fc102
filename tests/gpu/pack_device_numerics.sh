#!/usr/bin/env bash
# Packs the test of the device library for a host with a GPU: the program, the libraries that it
# loads and images for one architecture. There run.sh is all that is needed, beside the driver.
#
#   tests/gpu/pack_device_numerics.sh [FOLDER [ARCHITECTURE]]     by default .gpu/device_numerics and sm_90a
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:-.gpu/device_numerics}
architecture=${2:-sm_90a}

cmake --preset release -Wno-dev >/dev/null
cmake --build --preset release --target device_numerics
mkdir -p "$folder/lib"
install -s build/tests/device_numerics "$folder/"
ldd build/tests/device_numerics | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
  grep -Ev '/(libc|libm|libdl|libpthread|ld-linux[^/]*)\.so' | xargs install -m 644 -t "$folder/lib"
build/tests/device_numerics --compile "$folder/images" "$architecture"

cat >"$folder/run.sh" <<'RUN'
#!/usr/bin/env bash
# Checks the device library on this host's first GPU. The last line is 'N passed, N failed'.
#   run.sh [POINTS]      arguments of real functions where not all are tried, by default 65536
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec \
  "$here/device_numerics" --images "$here/images" --points "${1:-65536}"
RUN
chmod +x "$folder/run.sh"
