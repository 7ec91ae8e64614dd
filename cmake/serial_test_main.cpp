// SPDX-License-Identifier: Apache-2.0
// main() of the C++ tests that need no MPI.
#define DOCTEST_CONFIG_IMPLEMENT
#include "each_seed.hpp"

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    const bool failed =
        fluvial::failed_with_any_seed(context, [](bool condition) { return condition; });
    return failed ? 1 : 0;
}
