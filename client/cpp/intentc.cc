// intentc: Intent modules from the command line.
//
//   intentc verify kernel.kir
//   intentc print module.bin
//   intentc encode kernel.kir -o module.bin
//   intentc compile kernel.kir --target x86-64-v3 -o out/ --server unix:/path
//   intentc run kernel.kir --arg x=x.npy --size N=1000 --out y=y.npy
//   intentc stats --json --server unix:/path
//
// --server defaults to $INTENT_COMPILER. Without either, compile and stats use the user's own
// daemon, which they start when there is none, and run uses the interpreter. verify and print need
// no daemon.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/cpp/commands.h"

namespace intent::client {
namespace {

// "key=value" items into a map.
template <typename Value>
void AddMap(CLI::App* command, const std::string& flag, std::map<std::string, Value>* map,
            const std::string& help) {
  command
      ->add_option_function<std::vector<std::string>>(
          flag,
          [map, flag](const std::vector<std::string>& items) {
            for (const std::string& item : items) {
              const size_t equals = item.find('=');
              Value value{};
              if (equals == std::string::npos ||
                  !CLI::detail::lexical_cast(item.substr(equals + 1), value)) {
                throw CLI::ValidationError(flag, "'" + item + "' is not of the form name=value");
              }
              (*map)[item.substr(0, equals)] = value;
            }
          },
          help)
      ->allow_extra_args(false)
      ->take_all();
}

void AddServer(CLI::App* command, CommandOptions* options) {
  command->add_option("--server", options->server, "address of a daemon")
      ->envname("INTENT_COMPILER");
}

void AddCompileFlags(CLI::App* command, CommandOptions* options) {
  command->add_option("file", options->file, "a module, textual (*.kir) or serialised")->required();
  command->add_option("--target", options->target, "native, interp, x86-64-v3, ...");
  AddMap(command, "--bind", &options->bindings, "constexpr=value");
  command->add_option("--opt-level", options->opt_level, "0, 1 or 2")->check(CLI::Range(0, 2));
}

int Main(int argc, char** argv) {
  CommandOptions options;
  std::function<int(const CommandOptions&)> run;
  CLI::App app("Intent modules from the command line", "intentc");
  app.require_subcommand(1);

  CLI::App* verify = app.add_subcommand("verify", "say whether a module is valid");
  verify->add_option("file", options.file, "a module")->required();
  verify->callback([&] { run = VerifyCommand; });

  CLI::App* print = app.add_subcommand("print", "print a module as text");
  print->add_option("file", options.file, "a module")->required();
  print->callback([&] { run = PrintCommand; });

  CLI::App* encode = app.add_subcommand("encode", "write a module in its serialised form");
  encode->add_option("file", options.file, "a module")->required();
  encode->add_option("-o,--output", options.output, "the file to write")->required();
  encode->callback([&] { run = EncodeCommand; });

  CLI::App* compile = app.add_subcommand("compile", "compile a module by a daemon");
  AddCompileFlags(compile, &options);
  AddServer(compile, &options);
  compile->add_option("-o,--output", options.output, "folder for manifest and payloads");
  compile->add_flag("--keep-source", options.keep_source, "also the tile program and LLVM IR");
  compile->callback([&] { run = CompileCommand; });

  CLI::App* execute = app.add_subcommand("run", "run a kernel, by a daemon or the interpreter");
  AddCompileFlags(execute, &options);
  AddServer(execute, &options);
  AddMap(execute, "--arg", &options.arguments, "parameter=file.npy or parameter=number");
  AddMap(execute, "--size", &options.sizes, "symbol=extent of generated arrays");
  AddMap(execute, "--out", &options.outputs, "parameter=file.npy to write");
  execute->callback([&] { run = RunCommand; });

  CLI::App* stats = app.add_subcommand("stats", "the counters of a daemon");
  AddServer(stats, &options);
  stats->add_flag("--json", options.json, "as JSON");
  stats->callback([&] { run = StatsCommand; });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run(options);
}

}  // namespace
}  // namespace intent::client

int main(int argc, char** argv) { return intent::client::Main(argc, argv); }
