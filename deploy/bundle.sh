#!/usr/bin/env bash
# Builds what is missing and packs a bundle: one folder that runs where neither a compiler nor a package
# registry is at hand. docs/bundle.md says what is in it and how it is used.
#
#   deploy/bundle.sh [--output FILE] [--level N]
#
#   --output FILE   the archive, by default build/bundle/intent-VERSION-MACHINE.tar.zst; its ending says
#                   how it is compressed: .tar.zst or .tar.xz
#   --level N       effort of compression, by default 19 (zstd) or 6 (xz)
#
# For Debian 12. deploy/install-deps.sh --bundle installs what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\033[1m[bundle]\033[0m %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

output='' level=''
while [ $# -gt 0 ]; do
  case "$1" in
    --output) output=${2:?a file} && shift 2 ;;
    --level) level=${2:?a number} && shift 2 ;;
    *) sed -n '2,12p' "$0" >&2 && exit 2 ;;
  esac
done

built=build/bundle # what CMake makes for bundles alone
for tool in patchelf zstd xz; do
  command -v "$tool" >/dev/null || fail "$tool is missing: deploy/install-deps.sh --bundle installs it"
done
compgen -G 'build/python-headers/usr/include/python3.*' >/dev/null ||
  fail 'headers of Python 3.12 or later are missing: deploy/install-deps.sh --bundle fetches them'

say 'building'
cmake --preset release -Wno-dev >/dev/null
grep -q intent-worker-bundle build/build.ninja ||
  fail 'libPolly.a of LLVM is missing: deploy/install-deps.sh --bundle installs it'
cmake --build --preset release --target intent-compiled intent-worker-bundle intentc intent_client_shared \
  intent_python_core intent_python_core_abi3 intent_proto_python >&2

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[A-Z]*=//p' build/CMakeCache.txt)
name=intent-$version-$(uname -m)
output=${output:-$built/$name.tar.zst}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
stage=$scratch/$name
mkdir -p "$stage"/{bin,lib/pkgconfig,python,include,share/doc/intent/licences,share/intent}

say 'staging'
install -s build/bin/{intent-compiled,intentc} "$built/bin/intent-worker" "$stage/bin/"
install -s "$built/lib/libintent_client.so" "$stage/lib/"
cp -R client/python/src/intent build/python_proto/intent_proto "$stage/python/"
install -s build/python/intent/_core.*.so "$built/python/intent/_core.abi3.so" "$stage/python/intent/"
find "$stage/python" -name __pycache__ -prune -exec rm -rf {} +
mkdir -p "$stage/python/intent/manual/docs" # where the manual looks for its pages
cp -R docs/*.md docs/examples "$stage/python/intent/manual/docs/"
ln -s ../../../python/intent/manual/docs "$stage/share/doc/intent/docs"
cp -R client/examples "$stage/share/intent/"
install -m 644 deploy/bundle-readme.md "$stage/README.md"

# Headers of the client library, and those of the libraries that they name.
headers() { # root, folders or files below it...
  local root=$1
  shift
  (cd "$root" && find "$@" -name '*.h' -o -name '*.inc' -o -name '*.def') |
    tar -C "$root" -cf - --files-from=- | tar -C "$stage/include" -xf -
}
headers . client/cpp compiler/{builder,ir,diag,verify}
headers build/proto_gen intent
headers /usr/include absl google/protobuf
rm -rf "$stage"/include/google/protobuf/compiler
find "$stage/include" \( -name '*_fixture.h' -o -name '*.grpc.pb.h' -o -name connection.h \) -delete

# Shared libraries: all that our files load, but those that every distribution has and that a
# process may have only once.
host_has='^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libz)\.so'
mapfile -t ours < <(find "$stage" -type f \( -path '*/bin/*' -o -name '*.so' \))
mapfile -t libraries < <(ldd "${ours[@]}" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
  grep -Ev "$host_has" | cut -d' ' -f2)
for library in "${libraries[@]}"; do
  install -m 644 "$library" "$stage/lib/$(basename "$library")"
  package=$(dpkg-query -S "$(readlink -f "$library")" | head -n 1 | cut -d: -f1)
  cp -n "/usr/share/doc/$package/copyright" "$stage/share/doc/intent/licences/$package"
done

# DT_RPATH of a file also serves the libraries that it loads, which stay as their packages have them.
for file in "${ours[@]}"; do
  patchelf --force-rpath --set-rpath "\$ORIGIN/$(realpath --relative-to "$(dirname "$file")" "$stage/lib")" "$file"
done

cat >"$stage/lib/pkgconfig/intent-client.pc" <<PC
prefix=\${pcfiledir}/../..
Name: intent-client
Description: Client of the intent-compiled service
Version: $version
Cflags: -std=c++20 -I\${prefix}/include
Libs: -L\${prefix}/lib -lintent_client -l:libprotobuf.so.32 $(
  cd "$stage/lib" && printf -- '-l:%s ' libabsl_{status,statusor,strings,cord,throw_delegate}.so.*
)-Wl,-rpath,\${prefix}/lib -Wl,-rpath-link,\${prefix}/lib
PC

# The oldest C and C++ libraries that all of it runs with.
find "$stage" -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec objdump -T {} + |
  grep -oE '\((GLIBC|GLIBCXX|CXXABI|GCC|ZLIB)_[0-9.]+\)' | tr -d '()' | sort -uV |
  awk -F_ '{ newest[$1] = $0 } END { for (library in newest) print newest[library] }' | sort \
  >"$stage/share/doc/intent/needs"

say "packing $output"
mkdir -p "$(dirname "$output")"
case "$output" in
  *.tar.zst) compress=(zstd -q -T0 "-${level:-19}" -f -o "$output") ;;
  *.tar.xz) compress=(xz -T0 "-${level:-6}" --stdout) ;;
  *) fail "$output ends in neither .tar.zst nor .tar.xz" ;;
esac
pack() {
  tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
    -cf - "$name"
}
if [ "${compress[0]}" = xz ]; then
  pack | "${compress[@]}" >"$output"
else
  pack | "${compress[@]}"
fi
say "$(du -h --apparent-size "$output" | cut -f1) packed, $(du -sh "$stage" | cut -f1) unpacked; it needs $(
  tr '\n' ' ' <"$stage/share/doc/intent/needs")"
echo "$output"
