// intentc: Intent modules from the command line (docs/intentc.md).

#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/cpp/intentc/commands.h"

namespace intent::client {
namespace {

constexpr char kFooter[] =
    "A module is a file of textual KIR (*.kir) or of serialised KIR (any other name).\n"
    "A daemon is named by --daemon or INTENT_COMPILER; without either, commands that need one use\n"
    "your own and start it when there is none.\n"
    "Exit status: 0, 1 after an error, 2 for a wrong command line.";

// "key=value" items into a map.
template <typename Value>
void AddMap(CLI::App* command, const std::string& flag, std::map<std::string, Value>* map,
            const std::string& form, const std::string& help) {
  command
      ->add_option_function<std::vector<std::string>>(
          flag,
          [map, flag, form](const std::vector<std::string>& items) {
            for (const std::string& item : items) {
              const size_t equals = item.find('=');
              Value value{};
              if (equals == std::string::npos || equals == 0 ||
                  !CLI::detail::lexical_cast(item.substr(equals + 1), value)) {
                throw CLI::ValidationError(flag, "'" + item + "' is not of the form " + form);
              }
              if (!map->emplace(item.substr(0, equals), value).second) {
                throw CLI::ValidationError(flag, item.substr(0, equals) + " is given twice");
              }
            }
          },
          help)
      ->type_name(form)
      ->allow_extra_args(false)
      ->take_all();
}

void AddFile(CLI::App* command, CommandOptions* options) {
  command->add_option("file", options->file, "a module, textual (*.kir) or serialised")
      ->type_name("FILE")
      ->required();
}

void AddDaemon(CLI::App* command, CommandOptions* options) {
  command->add_option("--daemon,--server", options->daemon, "address of a daemon")
      ->type_name("unix:PATH")
      ->envname("INTENT_COMPILER");
  command->add_option("--timeout", options->timeout, "limit of each call to it")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6));
}

void AddCompileFlags(CLI::App* command, CommandOptions* options) {
  AddMap(command, "--bind", &options->bindings, "CONSTEXPR=VALUE",
         "value of a constexpr, by name or position; repeatable");
  command->add_option("--opt-level", options->opt_level, "0 plain, 1 quick, 2 everything (default)")
      ->check(CLI::Range(0, 2));
  command
      ->add_option(
          "--numerics", options->numerics,
          "source (default), or relaxed_normalization: licenses the online-softmax rewrite")
      ->check(CLI::IsMember({"source", "relaxed_normalization"}));
  command->add_flag("--keep-ptx", options->keep_ptx, "CUDA: also the PTX");
  command->add_flag("--no-cache", options->bypass_cache, "compile past the daemon's caches");
}

// "cuda:sm_90a" is "sm_90a".
std::string WithoutKind(std::string target) {
  return target.starts_with("cuda:sm_") ? target.substr(5) : target;
}

using Command = std::function<int(const CommandOptions&)>;

CLI::App* AddCommand(CLI::App* app, const std::string& name, const std::string& help,
                     Command command, Command* chosen) {
  CLI::App* result = app->add_subcommand(name, help);
  result->callback([command = std::move(command), chosen] { *chosen = command; });
  return result;
}

void AddModuleCommands(CLI::App* app, CommandOptions* options, Command* chosen) {
  CLI::App* verify = AddCommand(app, "verify", "report every error of a module at its place",
                                VerifyCommand, chosen);
  AddFile(verify, options);

  CLI::App* print = AddCommand(app, "print", "print a module as text", PrintCommand, chosen);
  AddFile(print, options);
  print->add_option("--encode", options->output, "write it serialised to this file instead")
      ->type_name("FILE");

  CLI::App* encode = AddCommand(app, "encode", "write a module serialised", EncodeCommand, chosen);
  AddFile(encode, options);
  encode->add_option("-o,--output", options->output, "the file to write")
      ->type_name("FILE")
      ->required();
}

void AddCompile(CLI::App* app, CommandOptions* options, Command* chosen) {
  CLI::App* compile =
      AddCommand(app, "compile", "compile a module by a daemon", CompileCommand, chosen);
  AddFile(compile, options);
  AddDaemon(compile, options);
  AddCompileFlags(compile, options);
  compile
      ->add_option("--target", options->target,
                   "native (default), x86-64-v3, sm_90a, interp, ...: see 'intentc capabilities'")
      ->transform(WithoutKind);
  compile
      ->add_option("-o,--output", options->output,
                   "folder for object, shared object, C header, manifest, KIR, report and times")
      ->type_name("FOLDER");
  compile->add_flag("--keep-source", options->keep_source,
                    "also the tile program and the LLVM IR or CUDA C++");
}

void AddRun(CLI::App* app, CommandOptions* options, Command* chosen) {
  CLI::App* run =
      AddCommand(app, "run", "run a kernel and show what it writes, by the interpreter or a daemon",
                 RunCommand, chosen);
  AddFile(run, options);
  AddDaemon(run, options);
  AddCompileFlags(run, options);
  run->add_option("--target", options->target,
                  "interp: here, slowly, as the language defines it; native and others: by a "
                  "daemon. Default: native if a daemon is named, otherwise interp")
      ->transform(WithoutKind);
  run->add_flag("--check", options->check,
                "by the interpreter, reporting races, reads of unwritten elements, invalid "
                "arithmetic input and more at their lines");
  run->add_flag("--laws", options->laws,
                "as --check, and sample the laws that combines and regions promise");
  AddMap(
      run, "--arg", &options->arguments, "PARAMETER=VALUE",
      "an argument, by name or position: file.npy, random:3x4:SEED, zeros:3x4, or a value (of an "
      "array: every element). Unnamed ones are random, scalars 1; repeatable");
  AddMap(run, "--size", &options->sizes, "SYMBOL=EXTENT",
         "extent of a symbol that no given array fixes (otherwise 8); repeatable");
  run->add_option("-o,--output", options->output, "file for the one array that the kernel writes")
      ->type_name("FILE.npy");
  AddMap(run, "--out", &options->outputs, "PARAMETER=FILE.npy",
         "file for an array that it writes; repeatable");
  run->add_flag("--print", options->print_all, "print the arrays that it writes in full");
}

void AddDaemonCommands(CLI::App* app, CommandOptions* options, Command* chosen) {
  for (CLI::App* command :
       {AddCommand(app, "stats", "the counters of a daemon", StatsCommand, chosen),
        AddCommand(app, "config", "the configuration of a daemon", ConfigCommand, chosen),
        AddCommand(app, "capabilities", "targets, limits and versions of a daemon",
                   CapabilitiesCommand, chosen)}) {
    AddDaemon(command, options);
    command->add_flag("--json", options->json, "as JSON");
  }
}

int Main(int argc, char** argv) {
  CommandOptions options;
  Command chosen;
  CLI::App app("Verify, print, compile and run Intent modules.", "intentc");
  app.require_subcommand(1);
  app.footer(kFooter);
  app.set_version_flag("--version", "intentc 0.1.0");
  AddModuleCommands(&app, &options, &chosen);
  AddCompile(&app, &options, &chosen);
  AddRun(&app, &options, &chosen);
  AddDaemonCommands(&app, &options, &chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return chosen(options);
}

}  // namespace
}  // namespace intent::client

int main(int argc, char** argv) { return intent::client::Main(argc, argv); }
