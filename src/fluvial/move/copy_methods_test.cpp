// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/copy_methods.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial::move;

TEST_CASE("every method copies all sizes and alignments, and nothing else") {
    std::mt19937 random(1);
    std::vector<std::byte> from(3000);
    for (auto& byte : from) {
        byte = static_cast<std::byte>(random());
    }
    std::vector<CopyMethod> methods = copy_methods();
    methods.push_back({"past the caches", &copy_past_caches});
    for (const CopyMethod& method : methods) {
        CAPTURE(method.name);
        int wrong = 0;
        const auto check = [&](std::size_t to_at, std::size_t from_at, std::size_t bytes) {
            std::vector<std::byte> to(3000, std::byte{0x5A});
            std::vector<std::byte> expected = to;
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(from_at), bytes,
                        expected.begin() + static_cast<std::ptrdiff_t>(to_at));
            method.copy(to.data() + to_at, from.data() + from_at, bytes);
            wrong += to != expected;
        };
        for (std::size_t bytes = 0; bytes < 200; ++bytes) {
            for (std::size_t at = 0; at < 64; at += 7) {
                check(at, 63 - at, bytes);
            }
        }
        for (int i = 0; i < 1000; ++i) {
            check(random() % 128, random() % 128, random() % 2800);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("the first method is an ordinary copy, and the last goes past the caches on x86") {
    CHECK(std::string(copy_methods().front().name) == "cached");
#ifdef __x86_64__
    CHECK(copy_methods().size() >= 2);
#endif
}
