// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/terms.hpp"

#include <algorithm>
#include <charconv>

#include "fluvial/base/error.hpp"
#include "fluvial/base/hash.hpp"

namespace fluvial {
namespace {

constexpr std::size_t characters_max = 80;
constexpr std::size_t listed_max = 64;  ///< entries of a list that are all told
constexpr std::size_t shown = 4;        ///< of a longer one, at its beginning

void put(ByteWriter& out, const std::vector<Terms::Term>& terms) {
    out.put<std::uint64_t>(terms.size());
    for (const Terms::Term& term : terms) {
        out.put_string(term.what);
        out.put_string(term.value);
        out.put_string(term.remedy);
    }
}

std::vector<Terms::Term> get(ByteReader& in) {
    std::vector<Terms::Term> terms;
    for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
        std::string what = in.get_string(), value = in.get_string();
        terms.push_back({std::move(what), std::move(value), in.get_string()});
    }
    return terms;
}

/// The term number `i`; of a rank that has said less, that there is nothing.
Terms::Term term_at(const std::vector<Terms::Term>& terms, std::size_t i) {
    return i < terms.size() ? terms[i] : Terms::Term{"", "nothing", ""};
}

[[noreturn]] void refuse(Terms::Term seen, std::size_t rank, Terms::Term wanted,
                         std::size_t first) {
    std::string what = "the ranks differ in " + wanted.what;
    if (seen.what != wanted.what) {
        what = "the ranks ask for different things";
        for (Terms::Term* term : {&seen, &wanted}) {
            if (!term->what.empty()) {
                term->value = text(term->what, " (", excerpt(term->value), ")");
            }
        }
    }
    const auto differ = std::mismatch(seen.value.begin(), seen.value.end(), wanted.value.begin(),
                                      wanted.value.end());
    const auto around = static_cast<std::size_t>(differ.first - seen.value.begin());
    const std::string& remedy = wanted.remedy.empty() ? seen.remedy : wanted.remedy;
    throw InvalidArgument(
        Problem{what, text(excerpt(seen.value, around), " on rank ", rank),
                text(excerpt(wanted.value, around), " as on rank ", first),
                remedy.empty() ? "Call it with equal arguments on every rank" : remedy});
}

void check_lists(const std::vector<Terms>& by_rank,
                 const std::vector<Terms::Term>& (Terms::*list)() const, bool silence_allowed) {
    std::size_t first = 0;
    while (silence_allowed && first < by_rank.size() && (by_rank[first].*list)().empty()) {
        ++first;
    }
    for (std::size_t rank = first + 1; rank < by_rank.size(); ++rank) {
        const auto& wanted = (by_rank[first].*list)();
        const auto& seen = (by_rank[rank].*list)();
        if (seen == wanted || (silence_allowed && seen.empty())) {
            continue;
        }
        std::size_t i = 0;
        while (term_at(seen, i) == term_at(wanted, i)) {
            ++i;
        }
        refuse(term_at(seen, i), rank, term_at(wanted, i), first);
    }
}

template <class T>
std::string digits_of(T value) {
    char digits[32];
    const auto written = std::to_chars(std::begin(digits), std::end(digits), value);
    return {digits, written.ptr};
}

template <class T>
std::string list_of(std::span<const T> values) {
    const bool all = values.size() <= listed_max;
    std::string list = "[";
    for (std::size_t i = 0; i < (all ? values.size() : shown); ++i) {
        list += (i == 0 ? "" : ", ") + digits_of(values[i]);
    }
    if (all) {
        return list + "]";
    }
    char checksum[16];
    const auto written =
        std::to_chars(std::begin(checksum), std::end(checksum), hash_of(std::as_bytes(values)), 16);
    return text(list, ", ..., ", digits_of(values.back()), "] (", values.size(),
                " numbers, checksum ", std::string_view(checksum, written.ptr), ")");
}

}  // namespace

Bytes Terms::encode() const {
    ByteWriter out;
    put(out, of_all_);
    put(out, of_some_);
    return out.take();
}

Terms Terms::decode(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    Terms terms;
    terms.of_all_ = get(in);
    terms.of_some_ = get(in);
    return terms;
}

std::int64_t number_of(const std::vector<Terms::Term>& terms) {
    ByteWriter out;
    put(out, terms);
    return static_cast<std::int64_t>(hash_of(out.view()) >> 1);
}

void check_alike(const std::vector<Terms>& by_rank) {
    check_lists(by_rank, &Terms::of_all, false);
    check_lists(by_rank, &Terms::of_some, true);
}

std::string excerpt(const std::string& value, std::size_t around) {
    constexpr std::string_view dots = "...";
    if (value.size() <= characters_max) {
        return value;
    }
    const std::size_t kept = characters_max - 2 * dots.size();
    std::size_t begin = around > kept / 2 ? around - kept / 2 : 0;
    begin = std::min(begin, value.size() - kept);
    const std::size_t end = begin + kept;
    return text(begin > 0 ? dots : "", value.substr(begin, kept), end < value.size() ? dots : "");
}

std::string exact(double value) {
    return digits_of(value);
}

std::string exact(std::int64_t value) {
    return digits_of(value);
}

std::string exact(bool value) {
    return value ? "true" : "false";
}

std::string exact(std::span<const double> values) {
    return list_of(values);
}

std::string exact(std::span<const std::int64_t> values) {
    return list_of(values);
}

std::string exact(std::span<const int> values) {
    return list_of(values);
}

std::string exact(std::string_view value) {
    return text("'", value, "'");
}

std::string declared(std::string_view name, std::string_view version) {
    return version.empty() ? std::string(name) : text(name, ", version '", version, "'");
}

}  // namespace fluvial
