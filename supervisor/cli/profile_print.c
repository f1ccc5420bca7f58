#include "profile_print.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "process/process.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const whom[] = {
	[PROFILE_TARGET_ALL] = "all ranks",
	[PROFILE_TARGET_ANY] = "one rank, which tells the others",
	[PROFILE_TARGET_RANK_0] = "rank 0",
};
static const char *const after[] = {[PROFILE_AFTER_ENDS] = "saves and ends",
				    [PROFILE_AFTER_CONTINUES] = "saves and continues"};

static void print_list(const char *label, const char *const *list)
{
	if (!*list)
		return;
	printf("  %-14s ", label);
	for (size_t i = 0; list[i]; i++)
		printf("%s%s", i > 0 ? ", " : "", list[i]);
	printf("\n");
}

static char *rule_text(const struct profile_rule *rule)
{
	const char *checkpoint = rule->checkpoint ? rule->checkpoint : "a directory";

	switch (rule->kind) {
	case PROFILE_RULE_NEEDS:
		return rule->member ? text_format("%s with %s but without %s", checkpoint,
						  rule->member, rule->marker)
				    : text_format("%s without %s", checkpoint, rule->marker);
	case PROFILE_RULE_FORBIDS:
		return text_format("%s with %s", checkpoint, rule->marker);
	case PROFILE_RULE_PAIR:
		return text_format("NAME%s without NAME%s, or the other way round", rule->member,
				   rule->marker);
	case PROFILE_RULE_POINTER:
		return text_format("%s with a higher number than `%s` beside it names", checkpoint,
				   rule->marker);
	case PROFILE_RULE_NONE:
		break;
	}
	return text_copy("");
}

static void print_request(const struct profile *profile)
{
	char name[SIGNAL_NAME_SIZE];

	if (profile->ask == PROFILE_ASK_NONE) {
		printf("  %-14s cannot be asked: %s; its periodic checkpoints count\n", "asking",
		       profile->ask_note);
		return;
	}
	printf("  %-14s %s to %s, where it is caught; %s\n", "asking",
	       signal_name_format(profile->signal, name), whom[profile->whom], profile->ask_note);
	printf("  %-14s it %s\n", "then", after[profile->after]);
}

static void print_codes(const struct profile *profile)
{
	printf("  %-14s", "exit codes");
	if (profile->zero_is_asked)
		printf(" 0");
	for (const int *code = profile->resume_codes; *code; code++)
		printf(" %d", *code);
	printf(": after a request, run it again\n");
}

void profile_print_text(const struct profile *profile)
{
	printf("%s: %s\n", profile->name, profile->title);
	print_list("command has", profile->words);
	print_list("or is", profile->programs);
	print_list("script imports", profile->imports);
	print_list("and contains", profile->with);
	print_list("script has", profile->texts);
	print_list("files", profile->files);
	print_request(profile);
	printf("  %-14s %s\n", "complete", profile->completion_note);
	for (size_t i = 0; i < PROFILE_RULES && profile->rules[i].kind; i++) {
		auto_free char *text = rule_text(&profile->rules[i]);

		printf("  %-14s %s\n", "torn", text);
	}
	print_list("any number", profile->resharded);
	print_list("not saved", profile->temporary);
	printf("  %-14s %s\n", "resuming", profile->resume_note);
	if (profile->lightning_slurm)
		printf("  %-14s like Slurm's, for one process outside Slurm whose default_root_dir "
		       "is "
		       "the\n  %-14s checkpoint directory: then SIGUSR1 makes it save "
		       "hpc_ckpt_N.ckpt and continue, and\n  %-14s it resumes from that by "
		       "itself\n",
		       "environment", "", "");
	if (profile->local_tmpdir)
		printf("  %-14s TMPDIR on the checkpoints' file system, if it is unset and /tmp is "
		       "on another one\n",
		       "environment");
	print_codes(profile);
}

static json_t *list_json(const char *const *list)
{
	json_t *array = json_array();

	for (; *list; list++)
		json_array_append_new(array, json_string(*list));
	return array;
}

static json_t *rules_json(const struct profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < PROFILE_RULES && profile->rules[i].kind; i++) {
		auto_free char *text = rule_text(&profile->rules[i]);

		json_array_append_new(array, json_string(text));
	}
	return array;
}

static json_t *request_json(const struct profile *profile)
{
	char name[SIGNAL_NAME_SIZE];
	bool can = profile->ask == PROFILE_ASK_SIGNAL;

	return json_pack("{s:b, s:s?, s:s?, s:s?, s:i, s:o, s:s}", "possible", can, "signal",
			 can ? signal_name_format(profile->signal, name) : NULL, "whom",
			 can ? whom[profile->whom] : NULL, "then",
			 can ? after[profile->after] : NULL, "patience_ms",
			 (int)profile->patience_ms, "needs_one_of", list_json(profile->enables),
			 "note", profile->ask_note);
}

json_t *profile_print_json(const struct profile *profile)
{
	json_t *codes = json_array();

	if (profile->zero_is_asked)
		json_array_append_new(codes, json_integer(0));
	for (const int *code = profile->resume_codes; *code; code++)
		json_array_append_new(codes, json_integer(*code));
	return json_pack(
		"{s:s, s:s, s:{s:o, s:o, s:o, s:o, s:o, s:o}, s:o, s:{s:o, s:s}, s:o, s:o, "
		"s:s, s:b, s:o, s:o}",
		"name", profile->name, "title", profile->title, "found_by", "words",
		list_json(profile->words), "programs", list_json(profile->programs), "imports",
		list_json(profile->imports), "with", list_json(profile->with), "texts",
		list_json(profile->texts), "files", list_json(profile->files), "asking",
		request_json(profile), "complete", "commits",
		list_json(profile->completion_markers), "note", profile->completion_note, "torn",
		rules_json(profile), "temporary", list_json(profile->temporary), "resuming",
		profile->resume_note, "local_tmpdir", profile->local_tmpdir, "exit_codes", codes,
		"resharded", list_json(profile->resharded));
}
