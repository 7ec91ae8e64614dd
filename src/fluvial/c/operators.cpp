// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/operators.hpp"

#include <charconv>
#include <sstream>
#include <vector>

#include "fluvial/base/terms.hpp"
#include "fluvial/c/boundary.hpp"
#include "fluvial/c/element_type.hpp"
#include "fluvial/compute/apply.hpp"
#include "fluvial/compute/operators/mpi_function.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/mpi/local_operation.hpp"

namespace fluvial::c {
namespace {

const char* own_operator(mpi::Operation operation) {
    switch (operation) {
        case mpi::Operation::Sum:
            return "sum";
        case mpi::Operation::Product:
            return "product";
        case mpi::Operation::Min:
            return "min";
        case mpi::Operation::Max:
            return "max";
        case mpi::Operation::MinLocation:
            return "argmin";
        case mpi::Operation::MaxLocation:
            return "argmax";
        case mpi::Operation::Other:
            break;
    }
    return nullptr;
}

const char* said(const char* functions) {
    return functions == nullptr ? "" : functions;
}

template <class T>
bool parse(const std::string& word, T& value) {
    const char* const end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, value);
    return !word.empty() && error == std::errc() && stopped == end;
}

compute::Option option_of(const std::string& word) {
    std::int64_t integer = 0;
    double number = 0;
    if (word == "true" || word == "false") {
        return word == "true";
    }
    if (parse(word, integer)) {
        return integer;
    }
    if (parse(word, number)) {
        return number;
    }
    std::vector<double> numbers;
    std::istringstream list(word);
    for (std::string item; std::getline(list, item, ',');) {
        if (!parse(item, number)) {
            return word;
        }
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace

TypedOperator operator_of(MPI_Op op, MPI_Datatype type, DType elements, const char* functions) {
    const DType wanted = mpi::element_type(type);
    if (const char* const name = own_operator(mpi::operation_of(op))) {
        return {compute::make_operator(name, {{"skipna", false}}), wanted, false};
    }
    mpi::check_local_operation(op, type);
    auto fold = compute::make_fold_operator(
        [op, type](const void* in, void* inout, int length) {
            const InFunction inside;
            mpi::reduce_local(in, inout, length, type, op);
        },
        wanted, declared(mpi::name_of(op), mpi::is_predefined(op) ? "" : said(functions)));
    if (elements != wanted) {
        fold = on_converted(std::move(fold), wanted);
    }
    return {std::move(fold), wanted, true};
}

TypedOperator operator_of(const std::string& text) {
    std::istringstream words(text);
    std::string name;
    words >> name;
    compute::Options options;
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw InvalidArgument(Problem{"not an option of an operator", "'" + word + "'",
                                          "name=value, as in 'quantile q=0.5,0.9 skipna=true'",
                                          ""});
        }
        options[word.substr(0, equals)] = option_of(word.substr(equals + 1));
    }
    options.try_emplace("skipna", false);
    return {compute::make_operator(name, options), DType::Float64, false};
}

compute::OperatorPtr on_mapped(compute::OperatorPtr op, fluvial_map map, void* context, int inputs,
                               const char* functions) {
    constexpr Index block_elements = 16384;
    return std::make_shared<compute::Apply>(
        [map, context](std::span<const ArrayView> views, const MutableArrayView& out) {
            const auto size = static_cast<std::size_t>(volume_of(out.extent));
            std::vector<double> values(views.size() * size);
            const double* lines[FLUVIAL_MAX_DATASETS] = {};
            for (std::size_t i = 0; i < views.size(); ++i) {
                compute::gather_doubles(views[i], values.data() + i * size);
                lines[i] = values.data() + i * size;
            }
            const InFunction inside;
            map(lines, reinterpret_cast<double*>(out.data), size, context);
        },
        [](std::span<const DType> dtypes) {
            for (const DType dtype : dtypes) {
                if (is_complex(dtype)) {
                    throw InvalidArgument(Problem{"a fluvial_map takes real numbers",
                                                  std::string(name_of(dtype)),
                                                  "integers, float16, float32, float64", ""});
                }
            }
            return DType::Float64;
        },
        inputs, std::move(op), block_elements, declared("a fluvial_map", said(functions)));
}

}  // namespace fluvial::c
