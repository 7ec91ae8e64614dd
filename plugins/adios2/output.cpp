// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <iostream>

#include "attributes.hpp"
#include "fluvial/base/error.hpp"
#include "marks.hpp"

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
              stage::writer_options(parameters.options, stage::OtherEnd::Ignored)) {}

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

/// Names of datasets have no "/" in front, as those of openPMD in ADIOS2 have.
std::string Output::dataset_of(const std::string& variable) {
    const std::size_t begin = variable.find_first_not_of('/');
    std::string name = begin == std::string::npos ? variable : variable.substr(begin);
    const auto [known, is_new] = variables_.emplace(name, variable);
    if (!is_new && known->second != variable) {
        throw InvalidArgument(Problem{text("two variables would be the dataset '", name, "'"),
                                      "'" + variable + "' and '" + known->second + "'",
                                      "names that differ in more than a '/' in front", ""});
    }
    return name;
}

/// Beside those that the series has.
Attributes Output::attributes_of_no_variable() {
    const auto variables = io_.AvailableVariables(true);
    IoAttributes all = attributes_of(io_);
    std::erase_if(all.values, [&](const auto& attribute) {
        const auto& [name, value] = attribute;
        return variables.contains(owner_of(name)) || (of_series_ && has(*of_series_, name, value));
    });
    mark_types(all.values, all.types, "");
    return all.values;
}

/// Of those that were put in this step.
Output::ByVariable Output::attributes_of_variables() {
    ByVariable all;
    for (const auto& [name, part] : arrays_) {
        all[name];
    }
    for (const auto& [name, kept] : kept_) {
        all[name];
    }
    const IoAttributes known = attributes_of(io_);
    for (const auto& [name, value] : known.values) {
        if (const auto owner = all.find(owner_of(name)); owner != all.end()) {
            owner->second.emplace(name.substr(owner->first.size() + 1), value);
        }
    }
    for (auto& [name, attributes] : all) {
        mark_types(attributes, known.types, name + "/");
        if (name.starts_with('/')) {
            attributes.insert_or_assign(name_mark, name);
        }
        const auto kept = kept_.find(name);
        if (kept != kept_.end() && kept->second.is_text) {
            attributes.insert_or_assign(text_mark, std::string("utf-8"));
        }
        const auto array = arrays_.find(name);
        if (array == arrays_.end() ? kept->second.part.is_char : array->second.is_char) {
            attributes.insert_or_assign(char_mark, std::string("char"));
        }
        // None would say nothing, and those of earlier steps would stay.
        const auto said = said_.find(name);
        if (attributes.empty() && said != said_.end() && !said->second.empty()) {
            attributes.emplace(types_mark, std::string());
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
    open_step().put(dataset_of(part.name), ArrayView(data, part.dtype, part.region.extent),
                    part.region.offset, part.shape);
    arrays_.insert_or_assign(part.name, part);
}

void Output::put_text(const std::string& name, std::string value) {
    const auto length = static_cast<Index>(value.size());
    const Part part{name, DType::UInt8, {{0}, {length}}, {length}, true, false};
    kept_.insert_or_assign(name, Kept{part, std::move(value), true});
    in_step_ = true;
}

void Output::perform_puts() {
    // Those that fail stay, as do those behind them: a step that timed out can end again.
    while (!later_.empty()) {
        put(later_.front().first, later_.front().second);
        later_.pop_front();
    }
}

/// A step that the queue's policy has discarded takes nothing.
bool Output::is_new(const std::string& name, const Attributes& attributes) const {
    const auto said = said_.find(name);
    return step_->accepted() &&
           !say_the_same(said == said_.end() ? Attributes() : said->second, attributes);
}

/// What fails stays, as does what is behind it: a step that timed out can end again.
void Output::put_kept(const ByVariable& attributes) {
    for (; !kept_.empty(); kept_.erase(kept_.begin())) {
        const auto& [name, kept] = *kept_.begin();
        const Attributes& said = attributes.at(name);
        const std::string dataset = dataset_of(name);
        if (comm_.rank() == 0) {
            const bool news = is_new(name, said);
            step_->put(dataset,
                       ArrayView(kept.bytes.data(), kept.part.dtype, kept.part.region.extent),
                       kept.part.region.offset, kept.part.shape, news ? said : Attributes());
            note_said(name, said);
        }
    }
}

/// By a put of no elements each.
void Output::say_of_arrays(const ByVariable& attributes) {
    for (; !arrays_.empty(); arrays_.erase(arrays_.begin())) {
        const auto& [name, part] = *arrays_.begin();
        const Attributes& said = attributes.at(name);
        if (is_new(name, said)) {
            Coordinates none = part.region.extent;
            none[0] = 0;
            step_->put(dataset_of(name), ArrayView(nullptr, part.dtype, none), part.region.offset,
                       part.shape, said);
            note_said(name, said);
        }
    }
}

void Output::note_said(const std::string& name, const Attributes& attributes) {
    if (step_->accepted()) {
        said_.insert_or_assign(name, attributes);
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
            give_up_step();
        }
        throw;  // a stream's step whose disk has stayed full can end again
    } catch (...) {
        give_up_step();
        throw;
    }
    forget_step();
    ++ended_;
}

/// What it said of variables has not come to anybody: the next one says it again.
void Output::give_up_step() {
    said_.clear();
    forget_step();
}

void Output::forget_step() {
    step_.reset();
    later_.clear();
    arrays_.clear();
    kept_.clear();
    in_step_ = false;
}

/// Attributes of no variable that were defined behind the begin of the last step.
std::string Output::names_unsaid() {
    std::string names;
    try {
        for (const auto& [name, value] : attributes_of_no_variable()) {
            if (ended_ > 0 && name != types_mark && !has(of_step_, name, value)) {
                names += (names.empty() ? "'" : ", '") + name + "'";
            }
        }
    } catch (const InvalidArgument& error) {  // of a type that no step could have had
        return text("(", error.what(), ")");
    }
    return names;
}

void Output::close() {
    if (in_step_ || !later_.empty()) {
        in_step_ = true;
        end_step();
    }
    const std::string unsaid = names_unsaid();
    series_.close();
    if (!unsaid.empty() && comm_.rank() == 0) {
        std::cerr << "fluvial: no step has the attributes " << unsaid
                  << ", which were defined after the last one had begun\n";
    }
    comm_.close();
}

}  // namespace fluvial::adios2_engine
