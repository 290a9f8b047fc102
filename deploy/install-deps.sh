#!/usr/bin/env bash
# Installs what building, testing and the demo need: Debian packages, and PyPI packages (pinned in
# deploy/requirements.txt) into a virtual environment at build/venv. The only place that names
# packages. For Debian 12, as root or with sudo; quick when everything is there.
#
#   deploy/install-deps.sh [--bench] [--bundle]
#
#   --bench    also the libraries that benchmarks compare with
#   --bundle   also what deploy/bundle.sh needs; among it, in build/python-headers, headers of a later Python
set -euo pipefail
cd "$(dirname "$0")/.."

debian_packages=(
  # The build.
  g++ cmake ninja-build ccache ca-certificates
  # Libraries.
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  llvm-19-dev liblld-19-dev libspdlog-dev libcli11-dev libssl-dev
  # Libraries that LLVM's CMake configuration looks for.
  zlib1g-dev libzstd-dev libxml2-dev libedit-dev libffi-dev libcurl4-openssl-dev
  # Tests; libmpfr computes the reference values of mathematical functions.
  libgtest-dev libgmock-dev libmpfr-dev
  # Tests of AArch64 objects on other machines.
  gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
  # The Python package.
  python3-dev python3-venv
)

bundle=''
for argument in "$@"; do
  case "$argument" in
    --bench) debian_packages+=(libdnnl2) ;;
    --bundle) debian_packages+=(libpolly-19-dev patchelf zstd xz-utils pkg-config) bundle=yes ;;
    *) sed -n '2,9p' "$0" >&2 && exit 2 ;;
  esac
done

say() { printf '\033[1m[install]\033[0m %s\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "root or sudo is needed to run: $*" >&2
    exit 1
  fi
}

# Runs apt-get and shows the lines that tell of progress; all of them if it fails.
apt_get() {
  local log
  log=$(mktemp)
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" 2>&1 |
    tee "$log" | { grep --line-buffered -E '^(Need to get|Setting up) ' || true; }; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

missing_packages() {
  local package
  for package in "${debian_packages[@]}"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      printf '%s\n' "$package"
    fi
  done
}

mapfile -t missing < <(missing_packages)
if [ ${#missing[@]} -gt 0 ]; then
  say "Debian packages: ${missing[*]}"
  apt_get update
  apt_get install --no-install-recommends "${missing[@]}"
else
  say "Debian packages: all there"
fi

# Where this system has its packages from.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Label: Debian' | head -n 1
}

# The stable ABI of Python 3.12 needs headers that Debian 12 has not. Those of the next release, from the
# same mirror, are unpacked in the build folder; nothing is installed, and apt's own lists stay as they are.
later_python_headers() {
  local folder mirror
  folder=$(mktemp -d)
  mirror=$(debian_mirror)
  if [ -z "$mirror" ]; then
    apt_get update
    mirror=$(debian_mirror)
  fi
  mkdir -p "$folder"/{lists,cache/archives}/partial
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$folder/sources.list"
  (
    cd "$folder"
    export APT_CONFIG=$folder/apt.conf
    cat >apt.conf <<CONF
Dir::Etc::SourceList "$folder/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$folder/lists";
Dir::Cache "$folder/cache";
APT::Sandbox::User "root";
CONF
    apt-get -qq update
    apt-get -qq download libpython3.13-dev
  )
  rm -rf build/python-headers
  mkdir -p build/python-headers
  dpkg -x "$folder"/libpython3.13-dev_*.deb build/python-headers
  rm -rf build/python-headers/usr/lib "$folder"
}

if [ -n "$bundle" ] && ! compgen -G 'build/python-headers/usr/include/python3.*' >/dev/null; then
  say "headers of a later Python"
  later_python_headers
fi

venv=build/venv
stamp=$venv/requirements.installed
if ! "$venv/bin/python" -c '' 2>/dev/null; then
  say "a virtual environment at $venv"
  /usr/bin/python3 -m venv --clear "$venv"
fi
if cmp -s deploy/requirements.txt "$stamp"; then
  say "Python packages: all there"
else
  say "Python packages"
  "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
    -r deploy/requirements.txt | { grep --line-buffered -E '^(Collecting|Successfully)' || true; }
  cp deploy/requirements.txt "$stamp"
fi

# NVRTC compiles kernels for CUDA: the toolkit's where it is, otherwise PyPI's. Tests say so where
# there is none.
if compgen -G '/usr/local/cuda/lib64/libnvrtc.so.1[23]' >/dev/null ||
  ldconfig -p | grep 'libnvrtc\.so\.1[23]' >/dev/null; then
  say "NVRTC: the machine's"
elif compgen -G "$venv/lib/python3*/site-packages/nvidia/cu13/lib/libnvrtc.so.13" >/dev/null; then
  say "NVRTC: PyPI's"
else
  say "NVRTC from PyPI"
  "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
    nvidia-cuda-nvrtc==13.0.88 | { grep --line-buffered -E '^(Collecting|Successfully)' || true; }
fi
