// SPDX-License-Identifier: Apache-2.0
/// Fluvial as an engine of ADIOS2. A program that is written for ADIOS2 writes or reads a series,
/// of which it knows nothing but the parameters of its IO, in its code or in its XML or YAML file:
///
///     <engine type="plugin">
///       <parameter key="PluginName" value="plate"/>
///       <parameter key="PluginLibrary" value="fluvial_adios2"/>
///     </engine>
///
/// The other end is any program of Fluvial, or one like this.
#include <memory>
#include <string>
#include <type_traits>

#include <adios2/plugin/PluginEngineInterface.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/comm.hpp"
#include "input.hpp"
#include "output.hpp"

namespace fluvial::adios2_engine {
namespace {

/// What a dataset can be an array of.
template <class T>
constexpr bool has_dtype = !std::is_same_v<T, long double>;

class Engine final : public adios2::plugin::PluginEngineInterface {
  public:
#if ADIOS2_USE_MPI
    Engine(adios2::IO io, const std::string& name, adios2::Mode mode, MPI_Comm comm)
        : PluginEngineInterface(io, name, mode, comm) {
        open(mpi::Comm::duplicate(comm));
    }
#else
    Engine(adios2::IO io, const std::string& name, adios2::Mode mode)
        : PluginEngineInterface(io, name, mode) {
        open({});
    }
#endif

    adios2::StepStatus BeginStep(adios2::StepMode, const float timeout_s) override {
        if (input_) {
            return input_->begin_step(timeout_s);
        }
        output().begin_step();
        return adios2::StepStatus::OK;
    }
    void EndStep() override {
        if (input_) {
            input_->end_step();
        } else {
            output().end_step();
        }
    }
    std::size_t CurrentStep() const override { return input_ ? input_->step() : output_->step(); }
    void PerformPuts() override { output().perform_puts(); }
    void DoClose(const int) override {
        if (input_) {
            input_->close();
        } else {
            output().close();
        }
    }

#define FLUVIAL_PUT_AND_GET(T)                                                                     \
    void DoPutSync(adios2::Variable<T> variable, const T* values) override {                       \
        put(variable, values, false);                                                              \
    }                                                                                              \
    void DoPutDeferred(adios2::Variable<T> variable, const T* values) override {                   \
        put(variable, values, true);                                                               \
    }                                                                                              \
    void DoGetSync(adios2::Variable<T> variable, T* values) override { get(variable, values); }    \
    void DoGetDeferred(adios2::Variable<T> variable, T* values) override {                         \
        get(variable, values);                                                                     \
    }                                                                                              \
    void DoGetSync(adios2::Variable<T> variable, T* values, const adios2::core::Selection& by)     \
        override {                                                                                 \
        get(variable, values, by);                                                                 \
    }                                                                                              \
    void DoGetDeferred(adios2::Variable<T> variable, T* values, const adios2::core::Selection& by) \
        override {                                                                                 \
        get(variable, values, by);                                                                 \
    }
    ADIOS2_FOREACH_STDTYPE_1ARG(FLUVIAL_PUT_AND_GET)
#undef FLUVIAL_PUT_AND_GET

#define FLUVIAL_SPAN(T)                                                                       \
    void DoPut(adios2::Variable<T> variable, typename adios2::Variable<T>::Span&, const bool, \
               const T&) override {                                                           \
        throw InvalidArgument(Problem{text("'", variable.Name(), "' is put by a span"),       \
                                      "a span, whose memory ADIOS2 does not tell a plugin",   \
                                      "an array", "Put it from memory of the program"});      \
    }
    ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(FLUVIAL_SPAN)
#undef FLUVIAL_SPAN

  private:
    void open(mpi::Comm comm) {
        const Parameters parameters = parameters_from(m_IO.Parameters());
        if (parameters.world) {
            comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
        }
        switch (m_OpenMode) {
            case adios2::Mode::Write:
                output_ = std::make_unique<Output>(m_IO, parameters, std::move(comm));
                break;
            case adios2::Mode::Read:
                input_ = std::make_unique<Input>(m_IO, parameters, std::move(comm));
                break;
            default:
                throw InvalidArgument(Problem{"a series is not opened in this mode",
                                              adios2::ToString(m_OpenMode),
                                              "Mode::Write, Mode::Read", "Read step by step"});
        }
    }
    Output& output() {
        if (!output_) {
            throw InvalidArgument(
                Problem{"a Put into a series that is read", m_Name, "Mode::Write", ""});
        }
        return *output_;
    }
    const Input& input() {
        if (!input_) {
            throw InvalidArgument(
                Problem{"a Get from a series that is written", m_Name, "Mode::Read", ""});
        }
        return *input_;
    }

    template <class T>
    void put(const adios2::Variable<T>& variable, const T* values, bool later) {
        Output& to = output();
        if constexpr (std::is_same_v<T, std::string>) {
            to.put_text(variable.Name(), *values);
        } else if constexpr (has_dtype<T>) {
            const Part part = part_of(variable, to.rank(), to.ranks());
            // ADIOS2's Python package puts single values from memory that does not last.
            if (later && variable.ShapeID() == adios2::ShapeID::GlobalArray) {
                to.put_later(part, values);
            } else {
                to.put(part, values);
            }
        } else {
            refuse(variable.Name());
        }
    }
    template <class T>
    void get(const adios2::Variable<T>& variable, T* values) {
        const Input& from = input();
        if constexpr (std::is_same_v<T, std::string>) {
            *values = from.get_text(variable.Name());
        } else if constexpr (has_dtype<T>) {
            from.get(part_of(variable, from.rank(), from.ranks()), values);
        } else {
            refuse(variable.Name());
        }
    }
    template <class T>
    void get(const adios2::Variable<T>& variable, T* values, const adios2::core::Selection& by) {
        if constexpr (std::is_same_v<T, std::string> || !has_dtype<T>) {
            get(variable, values);
        } else {
            input().get(input().selected(variable, by), values);
        }
    }
    [[noreturn]] static void refuse(const std::string& name) {
        throw InvalidArgument(Problem{text("'", name, "' cannot be in a series"), "long double",
                                      "integers, float, double, complex numbers, texts",
                                      "Convert it to double"});
    }

    std::unique_ptr<Output> output_;
    std::unique_ptr<Input> input_;
};

}  // namespace
}  // namespace fluvial::adios2_engine

#define FLUVIAL_EXPORTED extern "C" __attribute__((visibility("default")))

/// The two functions by which ADIOS2 knows a plugin.
#if ADIOS2_USE_MPI
FLUVIAL_EXPORTED adios2::plugin::PluginEngineInterface* EngineCreate(adios2::IO io,
                                                                     const std::string& name,
                                                                     const adios2::Mode mode,
                                                                     MPI_Comm comm) {
    return new fluvial::adios2_engine::Engine(io, name, mode, comm);
}
#else
FLUVIAL_EXPORTED adios2::plugin::PluginEngineInterface* EngineCreate(adios2::IO io,
                                                                     const std::string& name,
                                                                     const adios2::Mode mode) {
    return new fluvial::adios2_engine::Engine(io, name, mode);
}
#endif

FLUVIAL_EXPORTED void EngineDestroy(adios2::plugin::PluginEngineInterface* engine) {
    delete engine;
}
