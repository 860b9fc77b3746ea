// commands: the verbs of `troupe`, one file each. argv[0] is the verb; the exit status is DESIGN's.
#pragma once

namespace troupe {

int run_command(int argc, char** argv);
int inspect_command(int argc, char** argv);
int simulate_command(int argc, char** argv);
int generate_command(int argc, char** argv);
int convert_command(int argc, char** argv);
int torch_plugin_command(int argc, char** argv);
int doctor_command(int argc, char** argv);

}  // namespace troupe
