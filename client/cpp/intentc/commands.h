#pragma once

// What intentc does, one function per subcommand. Each prints its result and returns the exit
// status: 0, or 1 after an error that it has printed to standard error.

#include <cstdint>
#include <map>
#include <string>

namespace intent::client {

struct CommandOptions {
  std::string daemon;  // address; empty: the user's own, where one is needed
  double timeout = 0;  // seconds of each call; 0: the daemon's limits
  bool json = false;   // stats, config, capabilities
  std::string file;    // a module
  std::string target;  // empty: the command's default
  std::map<std::string, std::string> bindings;  // constexprs by name or position
  int opt_level = 2;
  std::string numerics = "source";  // or "relaxed_normalization"
  bool keep_source = false;
  bool keep_ptx = false;
  bool bypass_cache = false;
  std::string output;  // compile: a folder; print, encode: the serialised module; run: file.npy
  std::map<std::string, std::string> arguments;  // run: argument_spec.h by name or position
  std::map<std::string, std::string> outputs;    // run: file.npy by name or position
  std::map<std::string, int64_t> sizes;          // run: extents by symbol
  bool print_all = false;                        // run
  bool check = false;                            // run: the interpreter's checked mode
  bool laws = false;                             // run: that, and samples of the author's laws
};

// module_commands.cc: no daemon takes part.
int VerifyCommand(const CommandOptions& options);
int PrintCommand(const CommandOptions& options);
int EncodeCommand(const CommandOptions& options);

int CompileCommand(const CommandOptions& options);

// Target interp and its features: by the interpreter in this process. Everything else by a daemon.
int RunCommand(const CommandOptions& options);

// daemon_commands.cc
int StatsCommand(const CommandOptions& options);
int ConfigCommand(const CommandOptions& options);
int CapabilitiesCommand(const CommandOptions& options);

}  // namespace intent::client
