#include "service/config/config_budget.h"

namespace millrace::service {
namespace {

using Value = ConfigValue;

constexpr bool kOptional = false;

constexpr ConfigKey<Budget> kBudgetKeys[] = {
    {"cores", kOptional,
     [](const Value& v, Budget& b) {
       v.Real({0.1, 4096}, b.cores);
     }},
    {"gpu", kOptional,
     [](const Value& v, Budget& b) {
       v.Real({0.01, 100}, b.gpu);
     }},
    {"memory_gb", kOptional,
     [](const Value& v, Budget& b) {
       v.Real({0.01, 1e6}, b.memory_gb);
     }},
};

}  // namespace

void ReadBudget(const Value& value, Budget& budget) {
  value.MapOrNothing<Budget>(kBudgetKeys, budget);
}

}  // namespace millrace::service
