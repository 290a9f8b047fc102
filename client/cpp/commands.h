#pragma once

// What intentc does, one function per subcommand. Each prints its result and returns the exit
// status: 0, or 1 after an error that it has printed to standard error.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace intent::client {

struct CommandOptions {
  std::string server;  // address of a daemon; empty: the user's own, where one is needed
  std::string file;    // a module
  std::string target = "native";
  std::map<std::string, std::string> bindings;  // constexprs by name or position
  int opt_level = 2;
  bool keep_source = false;
  std::string output;                            // compile: a folder; encode: a file
  std::map<std::string, std::string> arguments;  // run: name=file.npy or name=number
  std::map<std::string, std::string> outputs;    // run: name=file.npy
  std::map<std::string, int64_t> sizes;          // run: symbol=extent
  bool json = false;                             // stats
};

int VerifyCommand(const CommandOptions& options);
int PrintCommand(const CommandOptions& options);
// Writes the serialised module to the output file.
int EncodeCommand(const CommandOptions& options);
int CompileCommand(const CommandOptions& options);
// By the daemon when there is one, otherwise by the interpreter in this process.
int RunCommand(const CommandOptions& options);
int StatsCommand(const CommandOptions& options);

}  // namespace intent::client
