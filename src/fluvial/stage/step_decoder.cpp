// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_decoder.hpp"

#include <algorithm>

namespace fluvial::stage {

bool StepDecoder::same_layout(const std::vector<std::span<const std::byte>>& records) const {
    return last_.size() == records.size() &&
           std::equal(records.begin(), records.end(), last_.begin(),
                      [](std::span<const std::byte> record, const Bytes& last) {
                          return std::ranges::equal(RecordReader::parts_of(record).layout, last);
                      });
}

/// One of the latest layout; none where all of them are in use.
std::shared_ptr<StepForm> StepDecoder::take_form() {
    const std::lock_guard lock(pool_->mutex);
    std::erase_if(pool_->free, [this](const auto& form) { return form->layout != layouts_; });
    if (pool_->free.empty()) {
        return nullptr;
    }
    auto form = std::move(pool_->free.back());
    pool_->free.pop_back();
    return form;
}

std::shared_ptr<StepForm> StepDecoder::decode(
    std::vector<RecordReader>& readers, const std::vector<std::span<const std::byte>>& records) {
    if (!same_layout(records)) {
        last_.clear();
        for (const auto& record : records) {
            const auto layout = RecordReader::parts_of(record).layout;
            last_.emplace_back(layout.begin(), layout.end());
        }
        ++layouts_;
    }
    if (auto form = take_form()) {
        form->description.attributes.clear();
        for (std::size_t rank = 0; rank < records.size(); ++rank) {
            readers[rank].read_places(records[rank], form->description, form->trails[rank]);
        }
        return form;
    }
    auto form = std::make_shared<StepForm>();
    form->layout = layouts_;
    form->pool = pool_;
    form->trails.resize(records.size());
    for (std::size_t rank = 0; rank < records.size(); ++rank) {
        readers[rank].read(records[rank], form->description, &form->trails[rank]);
    }
    return form;
}

void StepForm::give_back(std::shared_ptr<StepForm> form, StepDescription&& description) {
    constexpr std::size_t forms_max = 4;
    if (const auto pool = form->pool.lock()) {
        form->description = std::move(description);  // its datasets stay where they are
        const std::lock_guard lock(pool->mutex);
        if (pool->free.size() < forms_max) {
            pool->free.push_back(std::move(form));
        }
    }
}

}  // namespace fluvial::stage
