// SPDX-License-Identifier: Apache-2.0
/// What ranks that work together have to say alike, in words: compared as a number where all is
/// well, and told in words where it is not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fluvial/base/bytes.hpp"

namespace fluvial {

/// Say the same things in the same order on every rank: what comes first is told first.
///
///     Terms terms;
///     terms.add("the axes to reduce over", exact(over));
///     mpi::agree_on(comm, [&] { check(request); }, [&](Terms& terms) { … });
class Terms {
  public:
    struct Term {
        std::string what;   ///< completes "the ranks differ in …"
        std::string value;  ///< equal exactly where the thing is
        std::string remedy;

        friend bool operator==(const Term&, const Term&) = default;
    };

    /// What all ranks must say alike. Without a remedy the error advises equal arguments.
    void add(std::string what, std::string value, std::string remedy = "") {
        of_all_.push_back({std::move(what), std::move(value), std::move(remedy)});
    }
    /// What those ranks must say alike that say anything of the kind, such as consumers.
    void add_where_known(std::string what, std::string value, std::string remedy = "") {
        of_some_.push_back({std::move(what), std::move(value), std::move(remedy)});
    }

    const std::vector<Term>& of_all() const { return of_all_; }
    const std::vector<Term>& of_some() const { return of_some_; }

    Bytes encode() const;
    static Terms decode(std::span<const std::byte> bytes);

  private:
    std::vector<Term> of_all_, of_some_;
};

/// Equal terms have equal numbers; others hardly ever (63 bits). Not negative.
std::int64_t number_of(const std::vector<Terms::Term>& terms);

/// Throws InvalidArgument that names the first thing in which a rank differs from the first rank,
/// with both values, each cut to 80 characters around the place where they differ.
void check_alike(const std::vector<Terms>& by_rank);

/// At most 80 characters of `value`, around its character number `around`.
std::string excerpt(const std::string& value, std::size_t around = 0);

/// Values in words that are equal exactly where the values are: numbers with as many digits as it
/// takes, long lists by their first and last entries and a checksum of all.
std::string exact(double value);
std::string exact(std::int64_t value);
std::string exact(bool value);
inline std::string exact(int value) {
    return exact(static_cast<std::int64_t>(value));
}
std::string exact(std::span<const double> values);
std::string exact(std::span<const std::int64_t> values);
std::string exact(std::span<const int> values);
/// In quotes.
std::string exact(std::string_view value);
inline std::string exact(const char* value) {
    return exact(std::string_view(value));
}

/// A user's function by the name and version that it was given: functions cannot be compared.
std::string declared(std::string_view name, std::string_view version);

}  // namespace fluvial
