#include "service/terminal/cli_help.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/nearest.h"

namespace millrace::service {
namespace {

// The minimum width of a description, even on a narrower terminal.
constexpr std::size_t kMinColumns = 20;

/// An option's fixed list of values, taken from its type text: "TEXT:{relative,census}". Empty if
/// the option takes other values, too.
std::string ValuesIn(const std::string& type) {
  const std::size_t begin = type.find(":{");
  const std::size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return type.substr(begin, end + 1 - begin);
}

class WrappedHelp final : public CLI::Formatter {
 public:
  explicit WrappedHelp(std::size_t columns) : columns_(columns) {}

  std::string make_option_opts(const CLI::Option* option) const override {
    return OptionTakes(*option);
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    return InSecondColumn(OptionMeans(*option));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             InSecondColumn(command->get_description()), column_width_);
    return out.str();
  }

  std::string make_footer(const CLI::App* command) const override {
    const std::string footer = command->get_footer();
    return footer.empty() ? "" : WrappedParagraphs(footer, columns_) + "\n";
  }

 private:
  [[nodiscard]] std::string InSecondColumn(const std::string& text) const {
    return Wrapped(text, std::max(columns_, column_width_ + kMinColumns) - column_width_);
  }

  const std::size_t columns_;
};

/// "did you mean 'serve'? ", or empty.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(name, known);
  return nearest.empty() ? "" : absl::StrCat("did you mean '", nearest, "'? ");
}

/// The error text for an unknown option, with a list of the known ones. Empty if no option is
/// unknown.
std::string NoOption(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  const auto unknown = std::ranges::find_if(
      left, [](const std::string& word) { return word.size() > 1 && word.front() == '-'; });
  if (unknown == left.end()) return "";
  const std::string option = unknown->substr(0, unknown->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* one : app.get_options()) {
    for (const std::string& name : one->get_lnames()) known.push_back("--" + name);
  }
  return absl::StrCat("there is no option '", option, "'; ", DidYouMean(option, known),
                      "there are ", absl::StrJoin(known, ", "));
}

/// The error text for a missing or unknown command. Empty if the command is known.
std::string NoCommand(const CLI::App& app) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  if (commands.empty() || !app.get_subcommands().empty()) return "";
  const std::string all = absl::StrJoin(commands, ", ");
  if (app.remaining().empty()) return absl::StrCat("a command is missing: one of ", all);
  const std::string name = app.remaining().front();
  return absl::StrCat("there is no command '", name, "'; ", DidYouMean(name, commands),
                      "there are ", all);
}

std::string NoSuchName(const CLI::App& app) {
  std::string what = NoOption(app);
  return what.empty() ? NoCommand(app) : what;
}

std::string WhatIsWrong(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* command = app;
  std::string path = app->get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    absl::StrAppend(&path, " ", command->get_name());
  }
  const std::string unknown = NoSuchName(*command);
  return absl::StrCat(path, ": ", unknown.empty() ? error.what() : unknown, "\n", path,
                      " --help says what it takes.\n");
}

std::string WrappedLine(const std::string& line, std::size_t columns) {
  std::string wrapped;
  std::size_t used = 0;
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  for (const std::string& word : words) {
    const bool fits = used + 1 + word.size() <= columns;
    if (used > 0) wrapped += fits ? ' ' : '\n';
    used = used > 0 && fits ? used + 1 + word.size() : word.size();
    wrapped += word;
  }
  return wrapped;
}

}  // namespace

std::string Wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines = absl::StrSplit(std::string(text), '\n');
  for (std::string& line : lines) line = WrappedLine(line, columns);
  return absl::StrJoin(lines, "\n");
}

std::string WrappedParagraphs(std::string_view text, std::size_t columns) {
  std::vector<std::string> done;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) done.push_back(Wrapped(paragraph, columns));
    paragraph.clear();
  };
  const std::vector<std::string> lines = absl::StrSplit(std::string(text), '\n');
  for (const std::string& line : lines) {
    if (line.empty() || line.front() == ' ') {
      end_paragraph();
      done.push_back(line);
    } else {
      absl::StrAppend(&paragraph, paragraph.empty() ? "" : " ", line);
    }
  }
  end_paragraph();
  return absl::StrJoin(done, "\n");
}

// The description lists the values, because it has more room.
std::string OptionTakes(const CLI::Option& option) {
  const std::string values = ValuesIn(option.get_type_name());
  const std::string all = CLI::Formatter().make_option_opts(&option);
  return values.empty() ? all : absl::StrReplaceAll(all, {{values, ""}});
}

std::string OptionMeans(const CLI::Option& option) {
  std::string description = option.get_description();
  if (const std::string values = ValuesIn(option.get_type_name()); !values.empty()) {
    const std::string listed = values.substr(2, values.size() - 3);
    absl::StrAppend(&description, ": ", absl::StrReplaceAll(listed, {{",", ", "}}));
  }
  return description;
}

void ExplainWell(CLI::App& app, std::size_t columns) {
  app.formatter(std::make_shared<WrappedHelp>(columns));
  app.failure_message(WhatIsWrong);
}

}  // namespace millrace::service
