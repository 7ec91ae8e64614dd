// SPDX-License-Identifier: Apache-2.0
/// From the records of a step's writer ranks to its datasets, at little cost where a step has the
/// same datasets and chunks as the one before: then it is that one, with its chunks elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "fluvial/stage/step_record.hpp"

namespace fluvial::stage {

/// A step's record, and where in it each rank's chunks are. When the record is not used any more,
/// it waits for another step of the same layout.
struct StepForm {
    /// Outlives the decoder while records are in use.
    struct Pool {
        std::mutex mutex;
        std::vector<std::shared_ptr<StepForm>> free;
    };

    StepDescription description;              ///< elsewhere while a step is open
    std::vector<RecordReader::Trail> trails;  ///< by rank
    std::uint64_t layout = 0;                 ///< as the decoder counts them
    std::weak_ptr<Pool> pool;

    /// By any thread, at any time.
    static void give_back(std::shared_ptr<StepForm> form, StepDescription&& description);
};

/// One thread at a time.
class StepDecoder {
  public:
    /// `records` by rank, of the `readers`, which know the definitions. The record is the form's,
    /// to be taken out and given back. Throws as RecordReader::read.
    std::shared_ptr<StepForm> decode(std::vector<RecordReader>& readers,
                                     const std::vector<std::span<const std::byte>>& records);

  private:
    bool same_layout(const std::vector<std::span<const std::byte>>& records) const;
    std::shared_ptr<StepForm> take_form();

    std::vector<Bytes> last_;  ///< layouts of the latest step, by rank
    std::uint64_t layouts_ = 0;
    std::shared_ptr<StepForm::Pool> pool_ = std::make_shared<StepForm::Pool>();
};

}  // namespace fluvial::stage
