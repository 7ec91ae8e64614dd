// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <iostream>

#include "attributes.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::adios2_engine {
namespace {

/// The variable that an attribute of this name would belong to; empty where it is that of none.
std::string owner_of(const std::string& attribute) {
    const std::size_t end = attribute.rfind('/');
    return end == std::string::npos ? "" : attribute.substr(0, end);
}

bool has(const Attributes& attributes, const std::string& name, const Attribute& value) {
    const auto found = attributes.find(name);
    return found != attributes.end() && say_the_same(found->second, value);
}

}  // namespace

Output::Output(adios2::IO io, const Parameters& parameters, mpi::Comm comm)
    : io_(io),
      comm_(std::move(comm)),
      series_(parameters.series, comm_,
              scan::writer_options(parameters.options, scan::OtherEnd::Ignored)) {}

Output::~Output() {
    comm_.abandon();
}

void Output::begin_step() {
    if (in_step_) {
        throw InvalidArgument(Problem{"a step cannot begin now", "a step that is open", "none",
                                      "Call EndStep first"});
    }
    in_step_ = true;
}

/// Beside those that the series has.
Attributes Output::attributes_of_no_variable() {
    const auto variables = io_.AvailableVariables(true);
    Attributes all = attributes_of(io_);
    std::erase_if(all, [&](const auto& attribute) {
        const auto& [name, value] = attribute;
        return variables.contains(owner_of(name)) || (of_series_ && has(*of_series_, name, value));
    });
    return all;
}

Output::ByVariable Output::attributes_of_variables() {
    ByVariable all;
    for (auto& [name, value] : attributes_of(io_)) {
        const std::string owner = owner_of(name);
        if (arrays_.contains(owner) || kept_.contains(owner)) {
            all[owner].emplace(name.substr(owner.size() + 1), value);
        }
    }
    return all;
}

stage::SeriesWriteStep& Output::open_step() {
    if (!step_) {
        Attributes said = attributes_of_no_variable();
        if (!of_series_) {
            series_.set_attributes(said);
            of_series_ = std::exchange(said, {});
        }
        of_step_ = std::move(said);
        step_.emplace(series_.begin_step(of_step_));
        in_step_ = true;  // a program need not begin its only step
    }
    return *step_;
}

void Output::put(const Part& part, const void* data) {
    if (part.of_first_rank) {
        const std::string bytes(static_cast<const char*>(data), size_of(part.dtype));
        kept_.insert_or_assign(part.name, Kept{part, bytes});
        in_step_ = true;
        return;
    }
    open_step().put(part.name, ArrayView(data, part.dtype, part.region.extent), part.region.offset,
                    part.shape);
    arrays_.insert_or_assign(part.name, part);
}

void Output::put_text(const std::string& name, std::string value) {
    const auto length = static_cast<Index>(value.size());
    const Part part{name, DType::UInt8, {{0}, {length}}, {length}, true};
    kept_.insert_or_assign(name, Kept{part, std::move(value), true});
    in_step_ = true;
}

void Output::perform_puts() {
    const auto puts = std::exchange(later_, {});
    for (const auto& [part, data] : puts) {
        put(part, data);
    }
}

/// A step that the queue's policy has discarded takes nothing.
bool Output::is_new(const std::string& name, const Attributes& attributes) {
    Attributes& said = said_[name];
    if (!step_->accepted() || say_the_same(said, attributes)) {
        return false;
    }
    said = attributes;
    return true;
}

void Output::put_kept(const ByVariable& attributes) {
    for (const auto& [name, kept] : kept_) {
        Attributes said;
        if (const auto found = attributes.find(name); found != attributes.end()) {
            said = found->second;
        }
        if (kept.is_text) {
            said.emplace(text_mark, std::string("utf-8"));
        }
        if (comm_.rank() == 0) {
            step_->put(name, ArrayView(kept.bytes.data(), kept.part.dtype, kept.part.region.extent),
                       kept.part.region.offset, kept.part.shape,
                       is_new(name, said) ? said : Attributes());
        }
    }
}

/// By a put of no elements each.
void Output::say_of_arrays(const ByVariable& attributes) {
    for (const auto& [name, said] : attributes) {
        const auto array = arrays_.find(name);
        if (array == arrays_.end() || !is_new(name, said)) {
            continue;
        }
        const Part& part = array->second;
        Coordinates none = part.region.extent;
        none[0] = 0;
        step_->put(name, ArrayView(nullptr, part.dtype, none), part.region.offset, part.shape,
                   said);
    }
}

void Output::end_step() {
    if (!in_step_) {
        throw InvalidArgument(
            Problem{"no step can end now", "none is open", "one", "Call BeginStep first"});
    }
    try {
        perform_puts();
        open_step();
        const ByVariable attributes = attributes_of_variables();
        put_kept(attributes);
        say_of_arrays(attributes);
        step_->end();
    } catch (const TimedOut&) {
        if (!series_.live()) {
            forget_step();
        }
        throw;  // a stream's step whose disk has stayed full can end again
    } catch (...) {
        forget_step();
        throw;
    }
    forget_step();
    ++ended_;
}

/// Gives it up where it has not ended.
void Output::forget_step() {
    step_.reset();
    later_.clear();
    arrays_.clear();
    kept_.clear();
    in_step_ = false;
}

/// Attributes of no variable that were defined behind the begin of the last step.
void Output::warn_of_unsaid() {
    std::string names;
    for (const auto& [name, value] : attributes_of_no_variable()) {
        if (ended_ > 0 && !has(of_step_, name, value)) {
            names += (names.empty() ? "'" : ", '") + name + "'";
        }
    }
    if (!names.empty() && comm_.rank() == 0) {
        std::cerr << "fluvial: no step has the attributes " << names
                  << ", which were defined after the last one had begun\n";
    }
}

void Output::close() {
    if (in_step_ || !later_.empty()) {
        in_step_ = true;
        end_step();
    }
    warn_of_unsaid();
    series_.close();
    comm_.close();
}

}  // namespace fluvial::adios2_engine
