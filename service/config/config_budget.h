// The keys of `budget`: how much of the devices all streams together may use.
#pragma once

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

void ReadBudget(const ConfigValue& value, Budget& budget);

}  // namespace millrace::service
