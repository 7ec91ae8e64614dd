# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What ./run installs, and reads this file for: the system's packages (compilers, CMake, libraries, and for the
# tests Open MPI and doctest), a virtual environment, and the Python packages in it.

# Prints the interpreters to try: the system's python3 unless it is too old or newer than the wheels.
find_python() {
    for candidate in python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

# Whether the word builds the tests, under both MPIs or one.
builds_tests() {
    case $word in test | cluster | build | lint | soak | sanitize | portable) return 0 ;; esac
    return 1
}

missing_packages() {
    { command -v c++ && command -v cc; } >/dev/null 2>&1 || printf ' g++'
    command -v cmake >/dev/null 2>&1 || printf ' cmake'
    command -v ninja >/dev/null 2>&1 || printf ' ninja-build'
    command -v pkg-config >/dev/null 2>&1 || printf ' pkg-config'
    command -v ccache >/dev/null 2>&1 || printf ' ccache'
    [ -e /usr/include/sodium.h ] || printf ' libsodium-dev'
    [ -e /usr/include/openssl/evp.h ] || printf ' libssl-dev'
    [ -e /usr/include/libdeflate.h ] || printf ' libdeflate-dev'
    [ -e /usr/include/zstd.h ] || printf ' libzstd-dev'
    ! builds_tests || [ -e /usr/include/rdma/fi_rma.h ] || printf ' libfabric-dev'
    ! builds_tests || [ -e /usr/include/toml++/toml.h ] || printf ' libtomlplusplus-dev'
    pkg-config --exists hdf5 2>/dev/null || pkg-config --exists hdf5-serial 2>/dev/null ||
        printf ' libhdf5-dev'
    ! builds_tests || [ -e /usr/include/doctest/doctest.h ] || printf ' doctest-dev'
    if builds_tests || [ "$word" = bench ]; then
        { command -v mpicc.openmpi && command -v mpiexec.openmpi; } >/dev/null 2>&1 ||
            printf ' libopenmpi-dev openmpi-bin'
    fi
    [ "$word" != test ] || command -v cdo >/dev/null 2>&1 || printf ' cdo'
    [ "$word" != test ] || command -v smpirun >/dev/null 2>&1 || printf ' libsimgrid-dev'
    [ "$word" != test ] || command -v ncwa >/dev/null 2>&1 || printf ' nco'
    if [ "$word" = portable ]; then
        command -v clang++ >/dev/null 2>&1 || printf ' clang'
        command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 || printf ' g++-aarch64-linux-gnu'
        command -v qemu-aarch64 >/dev/null 2>&1 || printf ' qemu-user'
    fi
    [ "$word" != docs ] || command -v doxygen >/dev/null 2>&1 || printf ' doxygen'
    if [ ! -x "$venv/bin/python" ]; then
        if python=$(find_python); then
            version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
            "$python" -c 'import ensurepip' 2>/dev/null || printf ' %s-venv' "$version"
            "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || printf ' %s-dev' "$version"
        else
            printf ' python3.11 python3.11-venv python3.11-dev'
        fi
    fi
}

ensure_system() {
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    # Another apt may be at work, such as a fresh machine's own updates: it is waited for.
    wait='-o DPkg::Lock::Timeout=600'
    install="apt-get install $wait -y --no-install-recommends$missing"
    command -v apt-get >/dev/null 2>&1 ||
        die "missing, by their Debian names:$missing; install them with this system's package manager"
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif sudo -n true 2>/dev/null; then
        as_root='sudo -n'
    else
        say "system packages are missing; run this once, then ./run again:"
        printf '    sudo apt-get update && sudo %s\n' "$install"
        exit 1
    fi
    say "installing$missing"
    # shellcheck disable=SC2086 # a list of words
    $as_root env DEBIAN_FRONTEND=noninteractive sh -c "apt-get update $wait -q && $install" >"$build/apt.log" 2>&1 || {
        tail -20 "$build/apt.log" >&2
        die "could not install$missing (log: .build/apt.log); install them by hand, then ./run again"
    }
    left=$(missing_packages)
    [ -z "$left" ] || die "still missing after installation:$left"
}

ensure_venv() {
    if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c '' 2>/dev/null; then
        python=$(find_python) || die "no Python 3.11 to 3.13 on PATH; install python3.11 and python3.11-venv"
        say "creating .venv with $("$python" --version)"
        rm -rf "$venv"
        "$python" -m venv "$venv"
    fi
}

# ensure_wheels SET: what pyproject.toml lists for the set is installed; a stamp says for which lists.
ensure_wheels() {
    stamp=$venv/installed-$1
    lists=$(cksum <pyproject.toml)
    [ "$(cat "$stamp" 2>/dev/null)" != "$lists" ] || return 0
    say "installing Python packages: $1"
    "$venv/bin/python" - "$1" >"$build/requirements-$1.txt" <<'EOF'
import sys, tomllib

project = tomllib.load(open("pyproject.toml", "rb"))
extras = project["project"]["optional-dependencies"]
groups = project["dependency-groups"]
base = project["project"]["dependencies"] + project["build-system"]["requires"] + groups["build"]
print(*(base + extras["files"] + extras["demo"] if sys.argv[1] == "demo" else
        extras.get(sys.argv[1], []) + groups.get(sys.argv[1], [])), sep="\n")
EOF
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$build/requirements-$1.txt" >&2
    printf '%s\n' "$lists" >"$stamp"
}
