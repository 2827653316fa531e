#include "service/config_budget.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;

constexpr bool kOptional = false;

constexpr ConfigKey<Budget> kBudgetKeys[] = {
    {"cores", kOptional,
     [](const Value& v, Budget& b) {
       v.Real({0.1, 4096}, b.cores.emplace());
     }},
    {"gpu", kOptional,
     [](const Value& v, Budget& b) {
       v.Real({0.01, 100}, b.gpu.emplace());
     }},
};

}  // namespace

// All keys may be left out, so the section may be empty.
void ReadBudget(const Value& value, Budget& budget) {
  if (!value.node().IsNull()) value.Map<Budget>(kBudgetKeys, budget);
}

}  // namespace millrace::service
