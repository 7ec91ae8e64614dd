// SPDX-License-Identifier: Apache-2.0
/// Milliseconds of a CPU to distribute 10 000 chunks to 512 readers, by each strategy; arguments:
/// their texts.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "fluvial/distribute/registry.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

namespace {

/// A cube of 22 × 22 × 22 chunks (10 648), and 512 readers on 128 hosts.
Request cube() {
    Request request;
    for (Index i = 0; i < 22 * 22 * 22; ++i) {
        Coordinates at = coordinates_of(i, {22, 22, 22});
        for (Index& x : at) {
            x *= 64;
        }
        request.chunks.push_back(
            {{at, {64, 64, 64}}, static_cast<int>(i), {{"host", text("n", i / 84)}}});
    }
    for (int i = 0; i < 512; ++i) {
        request.readers.push_back({{"host", text("n", i / 4)}});
    }
    request.element_bytes = 8;
    return request;
}

}  // namespace

int main(int argc, char** argv) {
    const Request request = cube();
    std::vector<std::string> texts(argv + 1, argv + argc);
    if (texts.empty()) {
        for (const Registration& entry : registrations()) {
            texts.insert(texts.end(), entry.examples.begin(), entry.examples.end());
        }
    }
    for (const std::string& text : texts) {
        const StrategyPtr strategy = make_strategy(text);
        if (text == "fail" || text.ends_with("fallback=fail)")) {
            continue;
        }
        double best = 1e12;
        std::size_t pieces = 0;
        for (int run = 0; run < 3; ++run) {
            const std::clock_t begin = std::clock();
            pieces = assign(request, *strategy).assigned.size();
            best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
        }
        std::printf("%8.1f ms %8zu pieces  %s\n", best, pieces, text.c_str());
    }
}
