// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/header_reader.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"

namespace fluvial::store {
namespace {

constexpr std::uint64_t window_bytes = 64 << 10;

}  // namespace

HeaderReader::HeaderReader(const InputFile& file, std::string what)
    : file_(file), what_(std::move(what)), end_(std::min(file.size(), header_bytes_max)) {}

void HeaderReader::damaged(const std::string& what, const std::string& seen,
                           const std::string& allowed) const {
    throw DamagedFile(Problem{text("the ", what_, " of '", file_.path(),
                                   "' is damaged before byte ", position(), ": ", what),
                              seen, allowed, "Copy or write the file again"});
}

void HeaderReader::expect(std::uint64_t elements, std::uint64_t element_bytes) const {
    if (elements > left() / element_bytes) {
        damaged(file_.size() > header_bytes_max ? "it is longer than any header may be"
                                                : "it goes on behind the file's end",
                text(elements, " elements of ", element_bytes, " bytes or more"),
                text("the ", left(), " bytes left"));
    }
}

std::byte HeaderReader::byte() {
    std::array<std::byte, 1> one{};
    take(one);
    return one[0];
}

std::string HeaderReader::text_of(std::uint64_t bytes) {
    expect(bytes, 1);
    std::string value(bytes, '\0');
    take(std::as_writable_bytes(std::span(value)));
    return value;
}

void HeaderReader::skip(std::uint64_t bytes) {
    std::array<std::byte, 4> ignored;
    while (bytes > 0) {
        const auto step = std::min<std::uint64_t>(bytes, ignored.size());
        take(std::span(ignored).first(step));
        bytes -= step;
    }
}

void HeaderReader::take(std::span<std::byte> to) {
    expect(to.size(), 1);
    while (!to.empty()) {
        if (at_ == window_.size()) {
            start_ += window_.size();
            at_ = 0;
            window_.resize(std::min(window_bytes, end_ - start_));
            file_.read(start_, window_);
        }
        const std::size_t step = std::min(to.size(), window_.size() - at_);
        std::memcpy(to.data(), window_.data() + at_, step);
        at_ += step;
        to = to.subspan(step);
    }
}

}  // namespace fluvial::store
