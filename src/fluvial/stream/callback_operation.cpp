// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/stream/operation.hpp"

namespace fluvial::stream {
namespace {

class Callback final : public Operation {
  public:
    Callback(std::function<void(const Batch&)> work, bool takes_parts, std::string declared)
        : work_(std::move(work)), takes_parts_(takes_parts), declared_(std::move(declared)) {}
    std::string describe() const override { return declared_; }
    void absorb(const Batch& batch) override { work_(batch); }
    bool takes_parts() const override { return takes_parts_; }

  private:
    std::function<void(const Batch&)> work_;
    bool takes_parts_;
    std::string declared_;
};

}  // namespace

void check_whole(const Batch& batch, std::size_t value_bytes) {
    if (batch.bytes % value_bytes == 0) {
        return;
    }
    throw InvalidArgument(Problem{"the elements of a stream are not of the callback's type",
                                  text("a batch of ", batch.bytes, " bytes"),
                                  text("a multiple of ", value_bytes, " bytes"),
                                  "Use a type of the element's size"});
}

std::unique_ptr<Operation> make_callback(std::function<void(const Batch&)> work, bool takes_parts,
                                         std::string declared) {
    if (!work) {
        throw InvalidArgument(
            Problem{"a stream's callback is missing", "an empty function", "a function", ""});
    }
    return std::make_unique<Callback>(std::move(work), takes_parts, std::move(declared));
}

}  // namespace fluvial::stream
