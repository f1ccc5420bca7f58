/* Every verb, in the order of `reprieve --help`. */
#include "cli.h"
#include "options/options.h"
#include "verbs.h"

// clang-format off
const struct command commands[] = {
	{&verb_run,        cmd_run,        false},
	{&verb_list,       cmd_list,       true},
	{&verb_show,       cmd_show,       true},
	{&verb_restore,    cmd_restore,    false},
	{&verb_verify,     cmd_verify,     true},
	{&verb_export,     cmd_export,     true},
	{&verb_save,       cmd_save,       false},
	{&verb_import,     cmd_import,     false},
	{&verb_forget,     cmd_forget,     false},
	{&verb_pin,        cmd_pin,        false},
	{&verb_unpin,      cmd_unpin,      false},
	{&verb_status,     cmd_status,     true},
	{&verb_checkpoint, cmd_checkpoint, false},
	{&verb_probe,      cmd_probe,      false},
	{&verb_doctor,     cmd_doctor,     true},
	{&verb_report,     cmd_report,     true},
	{&verb_explain,    cmd_explain,    true},
	{&verb_watch,      cmd_watch,      false},
	{&verb_drill,      cmd_drill,      false},
	{&verb_mock,       cmd_mock,       false},
	{&verb_completion, cmd_completion, true},
};
// clang-format on

const size_t command_count = sizeof(commands) / sizeof(commands[0]);
