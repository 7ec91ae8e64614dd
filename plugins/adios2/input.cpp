// SPDX-License-Identifier: Apache-2.0
#include "input.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "attributes.hpp"
#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "output.hpp"

namespace fluvial::adios2_engine {
namespace {

/// Makes a variable of the IO what a dataset is.
template <class T>
void define_array(adios2::IO& io, const std::string& name, const adios2::Dims& shape) {
    const adios2::Dims start(shape.size(), 0);
    auto variable = io.InquireVariable<T>(name);
    if (!variable || variable.Shape().size() != shape.size()) {
        io.RemoveVariable(name);
        io.DefineVariable<T>(name, shape, start, shape);
    } else if (!shape.empty()) {
        variable.SetShape(shape);
        variable.SetSelection({start, shape});  // that of the step before does not stay
    }
}

bool is_text(const store::Dataset& dataset) {
    return dataset.dtype() == DType::UInt8 && dataset.attributes().contains(text_mark);
}

}  // namespace

Input::Input(adios2::IO io, const Parameters& parameters, mpi::Comm comm)
    : io_(io),
      comm_(std::move(comm)),
      series_(parameters.series, comm_,
              scan::reader_options(parameters.options, scan::OtherEnd::Ignored)) {}

Input::~Input() {
    comm_.abandon();
}

const scan::SeriesStep& Input::present() const {
    if (!step_) {
        throw InvalidArgument(
            Problem{"no step is open", "a Get", "Gets between BeginStep and EndStep", ""});
    }
    return *step_;
}

Input::Found Input::next(std::optional<double> timeout_s) {
    try {
        step_ = series_.next(timeout_s);
        return step_ ? Found::Step : Found::End;
    } catch (const TimedOut&) {
        if (!timeout_s) {
            throw;
        }
        return Found::NotYet;
    }
}

/// Where time is limited, the first rank's time is that of all, which take the step that it got.
adios2::StepStatus Input::begin_step(float timeout_s) {
    if (step_) {
        throw InvalidArgument(Problem{"a step cannot begin now", "a step that is open", "none",
                                      "Call EndStep first"});
    }
    Found found = Found::NotYet;
    if (timeout_s < 0) {
        found = next({});
    } else {
        if (comm_.rank() == 0) {
            found = next(timeout_s);
        }
        ByteWriter told;
        told.put(found);
        const auto bytes = comm_.bcast(told.view(), 0);
        found = ByteReader(bytes).get<Found>();
        if (comm_.rank() != 0 && found != Found::NotYet) {
            found = next({});
        }
    }
    if (found != Found::Step) {
        return found == Found::End ? adios2::StepStatus::EndOfStream : adios2::StepStatus::NotReady;
    }
    ++begun_;
    define_variables();
    define_attributes();
    return adios2::StepStatus::OK;
}

void Input::define_variables() {
    auto gone = std::exchange(variables_, {});
    for (const std::string& name : step_->names()) {
        const auto dataset = step_->dataset(name);
        const adios2::Dims shape = dims_from(step_->shape(name));
        gone.erase(name);
        if (is_text(*dataset)) {
            define_array<std::string>(io_, name, {});
        } else if (dataset->dtype() == DType::Float16) {
            define_array<float>(io_, name, shape);
        } else {
            dispatch(dataset->dtype(), [&]<class T>() {
                if constexpr (!std::is_same_v<T, Half>) {
                    define_array<T>(io_, name, shape);
                }
            });
        }
        variables_.emplace(name, "");
    }
    for (const auto& [name, type] : gone) {
        io_.RemoveVariable(name);
    }
}

void Input::define_attributes() {
    Attributes all = series_.attributes();
    for (const auto& [name, value] : step_->attributes()) {
        all.insert_or_assign(name, value);
    }
    for (const std::string& name : step_->names()) {
        for (const auto& [attribute, value] : step_->dataset(name)->attributes()) {
            if (attribute != text_mark) {
                all.insert_or_assign(text(name, "/", attribute), value);
            }
        }
    }
    for (const auto& [name, value] : all) {
        const auto before = attributes_.find(name);
        if (before == attributes_.end() || !say_the_same(before->second, value)) {
            define(io_, name, value);
        }
    }
    for (const auto& [name, value] : attributes_) {
        if (!all.contains(name)) {
            io_.RemoveAttribute(name);
        }
    }
    attributes_ = std::move(all);
}

void Input::get(const Part& part, void* data) const {
    const scan::SeriesStep& step = present();
    const DType stored = step.dataset(part.name)->dtype();
    const Coordinates& extent = part.region.extent;
    const auto into = [&](void* bytes, DType dtype) {
        step.read(part.name, part.region,
                  {static_cast<std::byte*>(bytes), dtype, extent,
                   contiguous_strides(extent, size_of(dtype))});
    };
    if (stored == part.dtype) {
        into(data, stored);
    } else if (stored == DType::Float16 && part.dtype == DType::Float32) {
        std::vector<Half> halves(static_cast<std::size_t>(part.region.volume()));
        into(halves.data(), stored);
        std::transform(halves.begin(), halves.end(), static_cast<float*>(data),
                       [](Half half) { return static_cast<float>(half); });
    } else {
        throw InvalidArgument(Problem{text("'", part.name, "' is read as another type"),
                                      std::string(name_of(part.dtype)),
                                      std::string(name_of(stored)), ""});
    }
}

std::string Input::get_text(const std::string& name) const {
    const compute::Array bytes = present().read(name);
    const auto* const begin = static_cast<const char*>(static_cast<const void*>(bytes.view().data));
    return {begin, static_cast<std::size_t>(bytes.view().size())};
}

void Input::end_step() {
    present();
    step_.reset();
}

void Input::close() {
    step_.reset();
    series_.close();
    comm_.close();
}

}  // namespace fluvial::adios2_engine
