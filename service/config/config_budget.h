// The keys of `budget`: what all streams together may take of the devices.
#pragma once

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

void ReadBudget(const ConfigValue& value, Budget& budget);

}  // namespace millrace::service
