#include "pipeline/nn/seeded_draws.h"

#include <optional>
#include <string>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace millrace::pipeline {
namespace {

// One per thread: whether its draws are seeded, and the seed until the first draw.
struct Draws {
  bool seeded = false;
  std::optional<std::uint64_t> seed;
  at::Generator generator;
};
thread_local Draws draws;

at::Generator& SeededGenerator() {
  if (!draws.generator.defined()) draws.generator = at::make_generator<at::CPUGeneratorImpl>();
  if (draws.seed) draws.generator.set_current_seed(*draws.seed);
  draws.seed.reset();
  return draws.generator;
}

bool IsGenerator(const c10::Argument& argument) {
  const auto optional = argument.type()->cast<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

bool IsOnCpu(const c10::IValue& value) {
  return !value.isTensor() || !value.toTensor().defined() || value.toTensor().is_cpu();
}

// Handles every operator with a generator argument: fills it in if the caller gave none.
void Draw(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const std::vector<c10::Argument>& arguments = op.schema().arguments();
  const std::size_t first = stack->size() - arguments.size();
  const bool on_cpu =
      std::all_of(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end(), IsOnCpu);
  for (std::size_t i = 0; draws.seeded && on_cpu && i < arguments.size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    if (IsGenerator(arguments[i]) && value.isNone()) value = SeededGenerator();
  }
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kHookKey), stack);
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, library) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op || name.getNamespace() != "aten") continue;
    const auto& arguments = op->schema().arguments();
    if (std::none_of(arguments.begin(), arguments.end(), IsGenerator)) continue;
    library.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&Draw>());
  }
}

}  // namespace

// Steele, Lea and Flood: "Fast splittable pseudorandom number generators".
std::uint64_t MixSeeds(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t mixed = seed + (number + 1) * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

SeededDraws::SeededDraws(std::uint64_t seed) {
  MILLRACE_CHECK(!draws.seeded);
  draws.seeded = true;
  draws.seed = seed;
}

SeededDraws::~SeededDraws() {
  draws.seeded = false;
  draws.seed.reset();
}

}  // namespace millrace::pipeline
