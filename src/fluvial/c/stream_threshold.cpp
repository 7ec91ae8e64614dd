// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/stream_threshold.hpp"

#include <optional>
#include <utility>

#include "fluvial/base/error.hpp"

namespace fluvial::c {
namespace {

thread_local std::optional<bool>* judging = nullptr;

/// While it lives, give_verdict() writes to `verdict`.
class Judging {
  public:
    explicit Judging(std::optional<bool>& verdict) : before_(std::exchange(judging, &verdict)) {}
    Judging(const Judging&) = delete;
    ~Judging() { judging = before_; }

  private:
    std::optional<bool>* before_;
};

/// The result of one round, and the verdict that the function gives on the way.
class FunctionJudge final : public stream::RoundJudge {
  public:
    FunctionJudge(std::shared_ptr<const StreamTypes> types, MPI_User_function* function) {
        const Judging here(verdict_);
        result_ = make_element_function(std::move(types), function);
    }
    std::optional<bool> take(std::span<const std::byte> merged) override {
        const Judging here(verdict_);
        result_->absorb({merged.data(), merged.size(), 0, 0});
        return verdict_;
    }

  private:
    std::optional<bool> verdict_;
    std::unique_ptr<CombinedOperation> result_;
};

}  // namespace

stream::ThresholdRule threshold_rule(std::shared_ptr<const StreamTypes> types,
                                     MPI_User_function* function) {
    stream::ThresholdRule rule;
    rule.merge = [](std::vector<std::byte> a, std::span<const std::byte> b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    rule.begin_round = [types = std::move(types), function] {
        return std::make_unique<FunctionJudge>(types, function);
    };
    return rule;
}

void give_verdict(bool verdict) {
    if (judging == nullptr) {
        throw InvalidArgument(
            Problem{"a verdict without contributions", "a null pointer as local result",
                    "the address of a contribution, on producers",
                    "Consumers call MPIStream_ThresholdColl inside the intermediate function"});
    }
    if (!*judging) {
        *judging = verdict;
    }
}

}  // namespace fluvial::c
