// SPDX-License-Identifier: Apache-2.0
#include "input.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "attributes.hpp"
#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "marks.hpp"

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

void define_variable(adios2::IO& io, const std::string& name, const store::Dataset& dataset,
                     const adios2::Dims& shape) {
    const Attributes& attributes = dataset.attributes();
    if (dataset.dtype() == DType::UInt8 && attributes.contains(text_mark)) {
        define_array<std::string>(io, name, {});
    } else if (dataset.dtype() == dtype_of<char>() && attributes.contains(char_mark)) {
        define_array<char>(io, name, shape);
    } else if (dataset.dtype() == DType::Float16) {
        define_array<float>(io, name, shape);
    } else {
        dispatch(dataset.dtype(), [&]<class T>() {
            if constexpr (!std::is_same_v<T, Half>) {
                define_array<T>(io, name, shape);
            }
        });
    }
}

}  // namespace

Input::Input(adios2::IO io, const Parameters& parameters, mpi::Comm comm)
    : io_(io),
      comm_(std::move(comm)),
      series_(parameters.series, comm_,
              stage::reader_options(parameters.options, stage::OtherEnd::Ignored)) {}

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

/// The first rank's time is that of all, which take the step that it got. What it fails by, all do.
Input::Found Input::next_of_all(double timeout_s) {
    constexpr double word_limit_s = 30;
    constexpr int tag = 0;
    if (comm_.rank() == 0) {
        Found found = Found::NotYet;
        const auto tell = [&](const std::string& kind, const std::string& message) {
            ByteWriter word;
            word.put(found);
            word.put_string(kind);
            word.put_string(message);
            for (int rank = 1; rank < comm_.size(); ++rank) {
                comm_.send(word.view(), rank, tag);
            }
        };
        try {
            found = next(timeout_s);
        } catch (const Error& error) {
            tell(error.kind(), error.what());
            throw;
        }
        tell("", "");
        return found;
    }
    const auto bytes = comm_.recv(0, tag, Deadline(timeout_s + word_limit_s));
    ByteReader word(bytes);
    const auto found = word.get<Found>();
    const std::string kind = word.get_string(), message = word.get_string();
    if (!kind.empty()) {
        throw_error(kind, message);
    }
    return found == Found::NotYet ? found : next({});
}

adios2::StepStatus Input::begin_step(float timeout_s) {
    if (step_) {
        throw InvalidArgument(Problem{"a step cannot begin now", "a step that is open", "none",
                                      "Call EndStep first"});
    }
    const Found found = timeout_s < 0 ? next({}) : next_of_all(timeout_s);
    if (found != Found::Step) {
        return found == Found::End ? adios2::StepStatus::EndOfStream : adios2::StepStatus::NotReady;
    }
    ++begun_;
    try {
        define_all();
    } catch (...) {
        step_.reset();
        throw;
    }
    return adios2::StepStatus::OK;
}

/// Variables and attributes.
void Input::define_all() {
    const auto before = std::exchange(datasets_, {});
    AttributeTypes types;
    Attributes all;
    const auto take = [&](Attributes attributes, const std::string& prefix) {
        const AttributeTypes marked = take_types(attributes);
        for (auto& [name, value] : attributes) {
            if (name != text_mark && name != char_mark && name != name_mark) {
                types.erase(prefix + name);  // of an earlier one of that name
                if (const auto type = marked.find(name); type != marked.end()) {
                    types.emplace(prefix + name, type->second);
                }
                all.insert_or_assign(prefix + name, std::move(value));
            }
        }
    };
    take(series_.attributes(), "");
    take(step_->attributes(), "");
    for (const std::string& dataset : step_->names()) {
        const auto found = step_->dataset(dataset);
        if (found->attributes().contains(record_mark)) {
            continue;  // it is among the attributes of the step
        }
        const std::string marked = text_of(found->attributes(), name_mark);
        const std::string name = marked.empty() ? dataset : marked;
        define_variable(io_, name, *found, dims_from(step_->shape(dataset)));
        take(found->attributes(), name + "/");
        datasets_.emplace(name, dataset);
    }
    for (const auto& [name, dataset] : before) {
        if (!datasets_.contains(name)) {
            io_.RemoveVariable(name);
        }
    }
    define_attributes(std::move(all), types);
}

void Input::define_attributes(Attributes all, const AttributeTypes& types) {
    const auto type_in = [](const AttributeTypes& of, const std::string& name) {
        const auto found = of.find(name);
        return found == of.end() ? "" : found->second;
    };
    for (const auto& [name, value] : all) {
        const auto before = attributes_.find(name);
        const std::string type = type_in(types, name);
        if (before == attributes_.end() || !say_the_same(before->second, value) ||
            type != type_in(types_, name)) {
            define(io_, name, value, type);
        }
    }
    for (const auto& [name, value] : attributes_) {
        if (!all.contains(name)) {
            io_.RemoveAttribute(name);
        }
    }
    attributes_ = std::move(all);
    types_ = types;
}

const std::string& Input::dataset_of(const std::string& variable) const {
    const auto found = datasets_.find(variable);
    if (found == datasets_.end()) {
        throw InvalidArgument(Problem{"the step has no variable of this name", "'" + variable + "'",
                                      "what InquireVariable finds in the step", ""});
    }
    return found->second;
}

void Input::get(const Part& part, void* data) const {
    const scan::SeriesStep& step = present();
    const std::string& dataset = dataset_of(part.name);
    const DType stored = step.dataset(dataset)->dtype();
    const Coordinates& extent = part.region.extent;
    const auto into = [&](void* bytes, DType dtype) {
        step.read(dataset, part.region,
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
    const compute::Array bytes = present().read(dataset_of(name));
    const auto* const begin = static_cast<const char*>(static_cast<const void*>(bytes.view().data));
    return {begin, static_cast<std::size_t>(bytes.view().size())};
}

void Input::end_step() {
    if (!step_) {
        throw InvalidArgument(
            Problem{"no step can end now", "none is open", "one", "Call BeginStep first"});
    }
    step_.reset();
}

void Input::close() {
    step_.reset();
    for (const auto& [name, dataset] : std::exchange(datasets_, {})) {
        io_.RemoveVariable(name);  // the next series that this IO reads may not have it
    }
    series_.close();
    comm_.close();
}

}  // namespace fluvial::adios2_engine
