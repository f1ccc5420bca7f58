#include "profile.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "process/process.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unmistakable names of unfinished files: no framework uses them for finished ones. */
static const char *const temporary_anywhere[] = {".metadata.tmp", "*.orbax-checkpoint-tmp*",
						 "tmp-checkpoint-[0-9]*", NULL};

/* --- the table --- */

/* A package is written with a hyphen where its module has an underscore, and in any case. */
static bool is_same_name(const char *name, const char *module)
{
	for (; *name && *module; name++, module++) {
		char letter = *name == '-' ? '_' : (char)tolower((unsigned char)*name);

		if (letter != (*module == '-' ? '_' : *module))
			return false;
	}
	return *name == *module;
}

static bool is_called(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (is_same_name(name, *names))
			return true;
	return false;
}

const struct profile *profile_find(const char *name)
{
	for (size_t i = 0; i < profile_count; i++)
		if (text_equal(profile_rows[i].name, name))
			return &profile_rows[i];
	for (size_t i = 0; i < profile_count; i++)
		if (is_called(name, profile_rows[i].also) ||
		    is_called(name, profile_rows[i].imports))
			return &profile_rows[i];
	return NULL;
}

char *profile_names(void)
{
	char *names = text_copy("");

	for (size_t i = 0; i < profile_count; i++)
		text_append(&names, "%s%s", i > 0 ? ", " : "", profile_rows[i].name);
	return names;
}

/* --- recognising --- */

/* "import x, M", "from M import x", and for M = "P.L" also "from P import x, L". Whose name goes on
 * with a dot is a part of M. */
bool profile_imports(const char *script, const char *module)
{
	const char *dot = strrchr(module, '.');
	auto_free char *parent = text_copy_n(module, dot ? (size_t)(dot - module) : 0);
	auto_free char *by_parent =
		text_format("|from[ \t]+%s[ \t]+import[ \t]+(.*[^[:alnum:]_])?%s", parent,
			    dot ? dot + 1 : "");
	auto_free char *pattern = text_format("^[ \t]*(import[ \t]+([^,]*,[ \t]*)*%s|from[ "
					      "\t]+%s%s)([^[:alnum:]_]|$)",
					      module, module, dot ? by_parent : "");

	return text_matches(script, pattern);
}

/* Is a word of the command line the wanted program, module or option (also "option=value")? */
static bool is_command_word(const char *word, size_t length, const char *wanted)
{
	const char *slash = memrchr(word, '/', length);
	size_t size = strlen(wanted);

	if (slash && *word != '-') {
		length -= (size_t)(slash + 1 - word);
		word = slash + 1;
	}
	return length >= size && strncmp(word, wanted, size) == 0 &&
	       (length == size || (*wanted == '-' && word[size] == '='));
}

const char *profile_shell_word(const char *shell, size_t *length)
{
	static const char separators[] = " \t\n\\;&|\"'";
	const char *word = shell ? shell + strspn(shell, separators) : "";

	*length = strcspn(word, separators);
	return *length > 0 ? word : NULL;
}

/* `program`: the value of an option is none. */
static bool has_word(const struct profile_evidence *evidence, const char *wanted, bool program)
{
	const char *at = evidence->shell, *before = "";
	size_t length;

	for (char *const *word = evidence->command; word && *word; before = *word++)
		if (is_command_word(*word, strlen(*word), wanted) && !(program && *before == '-'))
			return true;
	for (before = ""; (at = profile_shell_word(at, &length)); before = at, at += length)
		if (is_command_word(at, length, wanted) && !(program && *before == '-'))
			return true;
	return false;
}

static const char *first_word(const struct profile_evidence *evidence, const char *const *words,
			      bool program)
{
	for (; *words; words++)
		if (has_word(evidence, *words, program))
			return *words;
	return NULL;
}

bool profile_is_launched(const struct profile_evidence *evidence)
{
	static const char *const launchers[] = {
		"torchrun",
		"torch.distributed.run",
		"torch.distributed.launch",
		"accelerate",
		"deepspeed",
		"mpirun",
		"mpiexec",
		"horovodrun",
		"srun",
		"fabric",
		"lightning",
		NULL,
	};

	return first_word(evidence, launchers, false) != NULL;
}

static const char *first_text(const struct profile_evidence *evidence, const char *const *texts)
{
	for (; evidence->script && *texts; texts++)
		if (strstr(evidence->script, *texts))
			return *texts;
	return NULL;
}

static const char *first_import(const struct profile_evidence *evidence, const char *const *imports)
{
	for (; evidence->script && *imports; imports++)
		if (profile_imports(evidence->script, *imports))
			return *imports;
	return NULL;
}

static const char *first_file(const struct profile_evidence *evidence, const char *const *patterns)
{
	for (; evidence->checkpoints && *patterns; patterns++) {
		for (size_t i = 0; i < evidence->checkpoints->count; i++) {
			const char *path = evidence->checkpoints->items[i].path;

			if (fnmatch(*patterns, text_last_part(path), 0) == 0)
				return path;
		}
	}
	return NULL;
}

static bool is_recognised(const struct profile *profile, const struct profile_evidence *evidence,
			  char *why, size_t size)
{
	const char *script = evidence->script_name ? evidence->script_name : "the script";
	const char *found = first_word(evidence, profile->words, false);

	if (!found)
		found = first_word(evidence, profile->programs, true);
	if (found) {
		snprintf(why, size, "the command contains %s", found);
		return true;
	}
	found = first_text(evidence, profile->texts);
	if (found) {
		snprintf(why, size, "%s contains %s", script, found);
		return true;
	}
	found = first_import(evidence, profile->imports);
	if (found && (!profile->with[0] || first_text(evidence, profile->with))) {
		snprintf(why, size, "%s imports %s", script, found);
		return true;
	}
	return false;
}

bool profile_can_be_asked(const struct profile *profile, const struct profile_evidence *evidence)
{
	if (profile->ask == PROFILE_ASK_NONE)
		return false;
	/* A script that was not read may contain it. Asking does no harm then, because a signal is
	 * sent only to a process that catches it. */
	if (!profile->enables[0] || !evidence->script)
		return true;
	for (const char *const *text = profile->enables; *text; text++) {
		if (strstr(evidence->script, *text) ||
		    (evidence->shell && strstr(evidence->shell, *text)))
			return true;
		for (char *const *word = evidence->command; word && *word; word++)
			if (strstr(*word, *text))
				return true;
	}
	return false;
}

/* It names signals, and this one is not among them. */
static bool handles_others(const char *script, int signal)
{
	char name[SIGNAL_NAME_SIZE];
	bool others = false;

	if (strstr(script, signal_name_format(signal, name)))
		return false;
	for (const char *at = strstr(script, "SIG"); at; at = strstr(at + 1, "SIG"))
		others |= isupper((unsigned char)at[3]) != 0;
	return others;
}

bool profile_handler_is_unseen(const struct profile *profile,
			       const struct profile_evidence *evidence)
{
	static const char *const handlers[] = {
		"signal.signal(", "from signal import", "add_signal_handler", "sigaction",
		"sigwait",        "set_wakeup_fd",      "signalfd",           NULL,
	};

	if (evidence->shell && strstr(evidence->shell, "trap "))
		return false;
	return profile->ask == PROFILE_ASK_SIGNAL && profile->script_handles && evidence->script &&
	       (!first_text(evidence, handlers) ||
		handles_others(evidence->script, profile->signal)) &&
	       !profile_imports(evidence->script, "reprieve");
}

/* The command and its script come first: the directory's files may be another program's. */
void profile_choose(const struct profile_evidence *evidence, struct profile_choice *choice)
{
	const char *path;

	*choice = (struct profile_choice){0};
	for (size_t i = 0; i < profile_count && !choice->profile; i++)
		if (is_recognised(&profile_rows[i], evidence, choice->why, sizeof(choice->why)))
			choice->profile = &profile_rows[i];
	for (size_t i = 0; i < profile_count && !choice->profile; i++) {
		path = first_file(evidence, profile_rows[i].files);
		if (!path)
			continue;
		choice->profile = &profile_rows[i];
		snprintf(choice->why, sizeof(choice->why), "%.100s is in the checkpoint directory",
			 path);
	}
	if (!choice->profile)
		return;
	choice->can_be_asked = profile_can_be_asked(choice->profile, evidence);
	choice->handler_unseen = profile_handler_is_unseen(choice->profile, evidence);
}

/* --- names --- */

static bool matches_one(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (fnmatch(*patterns, name, 0) == 0)
			return true;
	return false;
}

bool profile_is_temporary_path(const struct profile *profile, const char *path)
{
	auto_free char *copy = text_copy(path);
	char *rest = copy;
	char *part;

	while ((part = strsep(&rest, "/")))
		if (matches_one(part, temporary_anywhere) ||
		    (profile && matches_one(part, profile->temporary)))
			return true;
	return false;
}

bool profile_is_completion_marker(const struct profile *profile, const char *path)
{
	return profile && matches_one(text_last_part(path), profile->completion_markers);
}

bool profile_has_marker(const struct profile *profile, enum profile_rule_kind kind,
			const char *path)
{
	for (size_t i = 0; i < profile_count; i++)
		for (size_t j = 0; j < PROFILE_RULES; j++) {
			const struct profile_rule *rule = &profile_rows[i].rules[j];

			if (rule->kind == kind && (rule->anywhere || profile == &profile_rows[i]) &&
			    fnmatch(rule->marker, text_last_part(path), 0) == 0)
				return true;
		}
	return false;
}

bool profile_is_resume_code(const struct profile *profile, int code)
{
	if (!profile)
		return false;
	for (const int *listed = profile->resume_codes; *listed; listed++)
		if (*listed == code)
			return true;
	return code == 0 && profile->zero_is_asked;
}
