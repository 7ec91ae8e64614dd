# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What ./run builds, and reads this file for: one build for each MPI, one with sanitizers, one by clang++, and one
# for 64-bit ARM.

use_cmake() {
    PATH=$venv/bin:$PATH
    # What the builds of both MPIs, and other checkouts, have in common is compiled once. The locale is
    # no difference: Python sets one for what it starts.
    CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=locale,pch_defines,time_macros
    export PATH CCACHE_BASEDIR CCACHE_NOHASHDIR CCACHE_SLOPPINESS
    if [ ! -e "$venv/installed-cmake-checked" ]; then
        have=$(cmake --version | sed -n '1s/[^0-9]*//p')
        if [ "$(printf '3.25\n%s\n' "$have" | sort -V | head -1)" != 3.25 ]; then
            say "CMake $have is older than 3.25: installing its wheel into .venv"
            "$venv/bin/python" -m pip install --quiet 'cmake>=3.25,<4' >&2
        fi
        : >"$venv/installed-cmake-checked"
    fi
}

# configure DIR PRESET OPTION…: a build folder that is not there yet, or has to be made anew.
configure() {
    dir=$1 preset=$2
    shift 2
    say "configuring .build/${dir##*/}"
    mkdir -p "$dir"
    cmake --preset "$preset" -B "$dir" -DPython_EXECUTABLE="$venv/bin/python" "$@" >"$dir/configure.log" 2>&1 || {
        tail -40 "$dir/configure.log" >&2
        rm -f "$dir/build.ninja"
        die "configuring .build/${dir##*/} failed (log: .build/${dir##*/}/configure.log)"
    }
}

# tell_progress LOG: how far ninja is, in place each second on a terminal, else each 20 seconds. It ends with
# the caller, which may be killed, and may stay a zombie while this holds its outputs.
tell_progress() {
    naps=0
    while sleep 1 >/dev/null 2>&1 && grep -q '^State:.[^XZ]' /proc/$$/status 2>/dev/null; do
        naps=$((naps + 1))
        done_of_all=$(tail -n 200 "$1" 2>/dev/null | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1)
        [ -n "$done_of_all" ] || continue
        if [ -t 2 ]; then
            printf '\rrun: %s ' "$done_of_all" >&2
        elif [ $((naps % 20)) = 0 ]; then
            say "$done_of_all"
        fi
    done
}

# compile DIR TARGET…: what is out of date there.
compile() {
    dir=$1
    shift
    if ! ninja -C "$dir" -n "$@" | grep -q 'no work to do'; then
        say "building .build/${dir##*/} (log: .build/${dir##*/}/build.log)"
        : >"$dir/build.log"
        tell_progress "$dir/build.log" &
        telling=$!
        built=yes
        ninja -C "$dir" "$@" >"$dir/build.log" 2>&1 || built=no
        kill $telling 2>/dev/null || true
        wait $telling 2>/dev/null || true
        if [ -t 2 ]; then printf '\r\033[K' >&2; fi
        [ $built = yes ] || {
            grep -A3 -E '(error: |undefined reference|Error |FAILED: )' "$dir/build.log" | head -60 >&2
            die "building .build/${dir##*/} failed (log: .build/${dir##*/}/build.log)"
        }
    fi
}

# Up to eight sources are compiled as one, in about half of the time.
together=-DCMAKE_UNITY_BUILD=ON

# build_flavour mpich|openmpi TESTS: configured once, built by ninja, installed into its prefix.
build_flavour() {
    dir=$build/$1
    case $1 in
    mpich) mpi_bin=$venv/bin suffix='' serial=ON ;;
    openmpi) mpi_bin=$(dirname -- "$(command -v mpicc.openmpi)") suffix=.openmpi serial=OFF ;;
    esac
    if [ ! -e "$dir/build.ninja" ] || { [ "$(cat "$dir/tests" 2>/dev/null)" = OFF ] && [ "$2" = ON ]; }; then
        configure "$dir" release "$together" -DCMAKE_INSTALL_PREFIX="$dir/prefix" -DFLUVIAL_PYTHON=ON \
            -DFLUVIAL_TESTS="$2" -DFLUVIAL_SERIAL_TESTS="$serial" \
            -DMPI_C_COMPILER="$mpi_bin/mpicc$suffix" -DMPIEXEC_EXECUTABLE="$mpi_bin/mpiexec$suffix"
        printf '%s\n' "$2" >"$dir/tests"
    fi
    compile "$dir"
    cmake --install "$dir" >"$dir/install.log" 2>&1 || {
        tail -20 "$dir/install.log" >&2
        die "installing .build/$1 failed (log: .build/$1/install.log)"
    }
}

# build_sanitized: the tests of these floors, with the address and undefined-behaviour sanitizers, which
# their sources have. The library is built without what none of them is linked with; what else it has is
# compiled as in the build for tests. It is a shared one: of a static one each test would have 180 MB.
sanitized='base describe compute store scan'
build_sanitized() {
    dir=$build/asan
    [ -e "$dir/build.ninja" ] || configure "$dir" asan "$together" '-DFLUVIAL_WITHOUT_FLOORS=flow;stream;c' \
        "-DFLUVIAL_SANITIZE_FLOORS=$(printf '%s' "$sanitized" | tr ' ' ';')" \
        -DCMAKE_BUILD_TYPE=Release -DFLUVIAL_ASSERT=OFF -DBUILD_SHARED_LIBS=ON \
        -DMPI_C_COMPILER="$venv/bin/mpicc" -DMPIEXEC_EXECUTABLE="$venv/bin/mpiexec"
    # shellcheck disable=SC2046 # a list of words
    compile "$dir" $(printf 'tests_of_%s ' $sanitized)
}

# build_by_clang: everything, the Python package and all C++ tests, where a warning is an error.
build_by_clang() {
    dir=$build/clang
    [ -e "$dir/build.ninja" ] || configure "$dir" clang -DFLUVIAL_PYTHON=ON \
        -DMPI_C_COMPILER="$venv/bin/mpicc" -DMPIEXEC_EXECUTABLE="$venv/bin/mpiexec"
    compile "$dir"
}

# build_for_arm: what needs no MPI, with its tests.
build_for_arm() {
    dir=$build/aarch64
    [ -e "$dir/build.ninja" ] || configure "$dir" aarch64
    compile "$dir"
}
