#include "cli.h"

#include "base/text.h"

#include <stdio.h>

/* The assembler reads them: no step of the build has to turn them into C. */
#define INCLUDE_FILE(name, path)                                                                \
	__asm__(".section .rodata\n.globl " #name "_begin\n" #name                              \
		"_begin:\n.incbin \"" SOURCES path "\"\n" #name "_end:\n.byte 0\n.previous\n"); \
	extern const char name##_begin[], name##_end[]

INCLUDE_FILE(embedded_restarts, "/supervisor/restore/RESTARTS.md");
INCLUDE_FILE(embedded_style, "/supervisor/cli/page.css");
INCLUDE_FILE(embedded_script, "/examples/bash/trap_and_sync.sh");
INCLUDE_FILE(exit, "/supervisor/cli/explain_exit.txt");
INCLUDE_FILE(header, "/shim/reprieve.h");
INCLUDE_FILE(module, "/shim/reprieve.py");
INCLUDE_FILE(bash, "/supervisor/cli/completions/reprieve.bash");
INCLUDE_FILE(zsh, "/supervisor/cli/completions/reprieve.zsh");
INCLUDE_FILE(fish, "/supervisor/cli/completions/reprieve.fish");

static const struct {
	const char *verb, *word, *begin, *end;
} files[] = {
	{"explain", "exit", exit_begin, exit_end},
	{"explain", "c", header_begin, header_end},
	{"explain", "python", module_begin, module_end},
	{"completion", "bash", bash_begin, bash_end},
	{"completion", "zsh", zsh_begin, zsh_end},
	{"completion", "fish", fish_begin, fish_end},
};

bool embedded_file_print(const char *verb, const char *word)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (text_equal(files[i].verb, verb) && text_equal(files[i].word, word))
			return fwrite(files[i].begin, 1, (size_t)(files[i].end - files[i].begin),
				      stdout) > 0;
	return false;
}
