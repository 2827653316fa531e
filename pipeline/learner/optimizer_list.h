// The list of all optimizers: MILLRACE_OPTIMIZER(kind, name, state, tensors). The including file
// defines the macro.
//
// `kind`: OptimizerOptions::Kind has it with a k in front, and pipeline/optim a function Make with
// it behind. `name`: in files and on the command line. `state`: kinds with the same one continue
// from each other's state. `tensors`: how many of a weight's size it keeps for each weight.
//
// To add an optimizer: write a file in pipeline/optim/, as nadamw.cc, a line here, and its formula
// in tests/pipeline/optim/optimizer_test.cc.

// NOLINTBEGIN(llvm-header-guard)
MILLRACE_OPTIMIZER(RmsProp, "rmsprop", "rmsprop", 1)
MILLRACE_OPTIMIZER(Sgd, "sgd", "sgd with momentum", 1)
MILLRACE_OPTIMIZER(Adam, "adam", "adam", 2)
MILLRACE_OPTIMIZER(AdamW, "adamw", "adam", 2)
MILLRACE_OPTIMIZER(NAdamW, "nadamw", "nadam", 2)
// NOLINTEND(llvm-header-guard)
