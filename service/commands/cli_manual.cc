#include "service/commands/cli_manual.h"

#include <functional>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "service/terminal/cli_help.h"
#include "service/terminal/cli_values.h"

namespace millrace::service {
namespace {

using Commands = std::vector<const CLI::App*>;

Commands SubcommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// Visits every command and subcommand with its full name: "evaluate flow".
void ForEachCommand(const CLI::App& app, const std::string& path,
                    const std::function<void(const std::string&, const CLI::App&)>& visit) {
  for (const CLI::App* command : SubcommandsOf(app)) {
    const std::string name = absl::StrCat(path, path.empty() ? "" : " ", command->get_name());
    visit(name, *command);
    ForEachCommand(*command, name, visit);
  }
}

// Man pages --------------------------------------------------------------------------------------

/// `text` with roff's special characters escaped.
std::string Plain(std::string_view text) {
  return absl::StrReplaceAll(std::string(text), {{"\\", "\\e"}, {"-", "\\-"}, {"'", "\\(aq"}});
}

/// Lines that roff leaves as they are, even if they begin with a dot or a quote.
std::string Verbatim(const std::string& text) {
  std::string lines;
  const std::vector<std::string> all = absl::StrSplit(text, '\n');
  for (const std::string& line : all) {
    absl::StrAppend(&lines, line.empty() ? "" : "\\&", Plain(line), "\n");
  }
  return lines;
}

/// "-s, --stream TEXT", and the rest of an option's help except its description.
std::string HeadOf(const CLI::Option& option) {
  const std::string names = CLI::Formatter().make_option_name(&option, option.get_positional());
  return absl::StrCat("\\fB", Plain(absl::StrReplaceAll(names, {{",", ", "}})), "\\fR",
                      Plain(OptionTakes(option)));
}

std::string Described(const CLI::Option& option) {
  return absl::StrCat(".TP\n", HeadOf(option), "\n\\&", Plain(OptionMeans(option)), "\n");
}

bool IsHelp(const CLI::Option& option) {
  return option.get_lnames() == std::vector<std::string>{"help"};
}

/// All options except --help, which every command has.
std::string OptionsOf(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (!IsHelp(*option)) absl::StrAppend(&text, Described(*option));
  }
  return text;
}

std::string HelpOf(const CLI::App& app) {
  const CLI::Option* const help = app.get_help_ptr();
  return help == nullptr ? "" : Described(*help);
}

std::string FooterOf(const CLI::App& command) {
  const std::string footer = command.get_footer();
  if (footer.empty()) return "";
  return absl::StrCat(".PP\n.nf\n", Verbatim(footer.substr(footer.front() == '\n' ? 1 : 0)),
                      ".fi\n");
}

// Bash -------------------------------------------------------------------------------------------

/// "--stream", "-s": a command's options.
std::vector<std::string> FlagsOf(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

/// An option's fixed list of values, taken from its type text: "TEXT:{relative,census}".
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return absl::StrSplit(type.substr(begin + 1, end - begin - 1), ',');
}

/// A shell case: after `of`, offers `words`; with `list`, a comma-separated list of them.
std::string Case(const std::string& of, const std::vector<std::string>& words, bool list = false) {
  return absl::StrCat("    \"", of, "\") words=\"", absl::StrJoin(words, " "), "\"",
                      list ? " list=yes" : "", " ;;\n");
}

constexpr char kCompletion[] =
    R"(# Completes `millrace` in bash, and in zsh by bashcompinit. Made by `millrace completion`.
_millrace() {
  local word=${COMP_WORDS[COMP_CWORD]} prior=${COMP_WORDS[COMP_CWORD - 1]} command="" each words=""
  local list="" before=""
  COMPREPLY=()
  # bash takes --schedule=par apart.
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $prior == "=" && $COMP_CWORD -gt 2 ]]; then
    prior=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for each in "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$command $each" in
    %COMMANDS%) command="${command:+$command }$each" ;;
    esac
  done
  case "$command $prior" in
%VALUES%  esac
  if [[ -z $words ]]; then
    case "$command" in
%WORDS%    esac
    [[ -z $command || $command == evaluate || $word == -* ]] || words=""
  fi
  # Of a list the names before the last comma stay, and are not offered again.
  if [[ -n $list && $word == *,* ]]; then
    before=${word%,*},
    word=${word##*,}
  fi
  while IFS= read -r each; do
    [[ -n $before && ,$before == *,$each,* ]] || COMPREPLY+=("$before$each")
  done < <(
    if [[ -n $words ]]; then compgen -W "$words" -- "$word"; else compgen -f -- "$word"; fi
  )
}
complete -o filenames -F _millrace millrace
)";

// zsh can run bash completions after these lines.
constexpr char kZshBegins[] =
    "autoload -U +X compinit bashcompinit && compinit -u && bashcompinit\n";

std::vector<std::string> WordsOf(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* each : SubcommandsOf(command)) words.push_back(each->get_name());
  for (std::string& flag : FlagsOf(command)) words.push_back(std::move(flag));
  return words;
}

}  // namespace

std::string ManPage(const CLI::App& app, std::string_view version) {
  std::string page =
      absl::StrCat(".TH MILLRACE 1 \"\" \"millrace ", std::string(version),
                   "\"\n.SH NAME\nmillrace \\- ", Plain(app.get_description()),
                   "\n.SH SYNOPSIS\n.B millrace\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH OPTIONS\n",
                   HelpOf(app), OptionsOf(app), ".SH COMMANDS\n");
  ForEachCommand(app, "", [&page](const std::string& name, const CLI::App& command) {
    absl::StrAppend(&page, ".SS millrace ", Plain(name), "\n", Plain(command.get_description()),
                    ".\n", OptionsOf(command), FooterOf(command));
  });
  absl::StrAppend(&page, ".SH EXAMPLES, EXIT STATUS, ENVIRONMENT\n", FooterOf(app));
  return page;
}

std::string ShellCompletion(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string values;
  std::string words = Case("", WordsOf(app));
  ForEachCommand(app, "", [&](const std::string& name, const CLI::App& command) {
    const std::size_t space = name.rfind(' ');
    commands.push_back(
        absl::StrCat("\"", space == std::string::npos ? absl::StrCat(" ", name) : name, "\""));
    absl::StrAppend(&words, Case(name, WordsOf(command)));
    for (const CLI::Option* option : command.get_options()) {
      if (ValuesOf(*option).empty()) continue;
      // A positional value follows the command's name.
      const std::string behind =
          option->get_lnames().empty() ? command.get_name() : "--" + option->get_lnames().front();
      absl::StrAppend(&values, Case(absl::StrCat(name, " ", behind), ValuesOf(*option),
                                    option->get_delimiter() == ','));
    }
  });
  return absl::StrReplaceAll(
      kCompletion,
      {{"%COMMANDS%", absl::StrJoin(commands, " | ")}, {"%VALUES%", values}, {"%WORDS%", words}});
}

void AddManual(CLI::App& app) {
  app.add_subcommand("man", "Print the manual page")
      ->footer("\nExample\n  millrace man >millrace.1 && man ./millrace.1");
  CLI::App* completion = app.add_subcommand(
      "completion", "Print a script that completes commands and options in bash or zsh");
  completion->add_option("shell", "The shell. Left out: bash, and zsh with bashcompinit")
      ->check(OneOf({"bash", "zsh"}));
  completion->footer(
      "\nExamples\n"
      "  source <(millrace completion bash)   in bash: in ~/.bashrc\n"
      "  source <(millrace completion zsh)    in zsh: in ~/.zshrc");
}

std::string ChosenManual(const CLI::App& app, std::string_view version) {
  if (app.got_subcommand("man")) return ManPage(app, version);
  if (!app.got_subcommand("completion")) return "";
  const CLI::Option* const shell = app.get_subcommand("completion")->get_option("shell");
  const bool zsh = shell->count() > 0 && shell->results().front() == "zsh";
  return absl::StrCat(zsh ? kZshBegins : "", ShellCompletion(app));
}

}  // namespace millrace::service
