#include "options.h"

#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A job that saves every few minutes keeps an hour, and a point to go back to for each day. */
#define KEEP_LAST_DEFAULT 10

bool retention_is_given(const struct retention_rules *rules)
{
	return rules->keep_last > 0 ||
	       (rules->keep_last < 0 && (rules->policy.keep_within_ms > 0 ||
					 rules->policy.keep_every > 0 || rules->tag_count > 0));
}

struct forget_policy retention_policy(const struct retention_rules *rules)
{
	struct forget_policy policy = rules->policy;

	if (!retention_is_given(rules))
		return (struct forget_policy){.keep_last = KEEP_LAST_DEFAULT, .keep_daily = true};
	policy.keep_last = rules->keep_last > 0 ? (uint32_t)rules->keep_last : 0;
	policy.keep_tags = rules->tags;
	policy.keep_tag_count = rules->tag_count;
	return policy;
}

void job_config_release(struct job_config *config)
{
	file_patterns_release(&config->patterns);
	json_decref(config->labels);
}

void profile_options_apply(struct job_config *options, const struct profile_choice *choice)
{
	const struct profile *profile = choice->profile;

	for (size_t i = 0; profile && profile->running[i]; i++)
		file_patterns_add(&options->patterns.running, profile->running[i], NULL);
	if (!profile || options->ask_chosen)
		return;
	if (choice->like_slurm) {
		options->ask = REQUEST_SIGNAL;
		options->checkpoint_signal = SIGUSR1;
		options->ask_like_slurm = true;
		return;
	}
	if (!choice->can_be_asked) {
		/* Its handler of SIGTERM would only cut short what may still be saved by itself. */
		if (profile->ends_unsaved)
			options->ask = REQUEST_NONE;
		return;
	}
	options->ask_ends_job = profile->after == PROFILE_AFTER_ENDS;
	/* SIGTERM is what `auto` sends, and where nobody catches it, it is
	 * forwarded as any init would. */
	if (profile->signal == SIGTERM && options->ask_ends_job)
		return;
	options->ask = REQUEST_SIGNAL;
	options->checkpoint_signal = profile->signal;
}

int profile_options_resolve(struct job_config *options, struct profile_choice *choice,
			    struct err *err)
{
	*choice = (struct profile_choice){0};
	options->checks_contents = !text_equal(options->profile, "none");
	if (!options->checks_contents)
		return 0;
	if (profile_detect(options->profile, options->command, options->checkpoint_dir, choice,
			   err) < 0)
		return err_wrap(err, "--profile");
	profile_options_apply(options, choice);
	return 0;
}

const char *profile_options_format(const struct job_config *options,
				   const struct profile_choice *choice, char *text, size_t size)
{
	const struct profile *profile = choice->profile;
	char name[SIGNAL_NAME_SIZE], *how;
	size_t room;

	text_set(text, size, "");
	if (!profile)
		return text;
	snprintf(text, size, "profile %s (%s): ", profile->name, choice->why);
	how = text + strlen(text);
	room = size - strlen(text);
	if (options->ask == REQUEST_COMMAND)
		snprintf(how, room, "asked by --checkpoint-command");
	else if (options->ask_chosen && options->ask == REQUEST_SIGNAL)
		snprintf(how, room, "asked with %s, as --checkpoint-signal says",
			 signal_name_format(options->checkpoint_signal, name));
	else if (options->ask_chosen && options->ask == REQUEST_NONE)
		snprintf(how, room, "not asked, as --checkpoint-signal says");
	else if (choice->polls)
		snprintf(how, room, "asked by the flag that its reprieve.py polls");
	else if (options->ask_like_slurm)
		snprintf(how, room,
			 "asked with SIGUSR1, as Slurm would; it saves hpc_ckpt_N.ckpt, goes on, "
			 "and resumes from it");
	else if (!choice->can_be_asked)
		snprintf(how, room,
			 "it cannot be asked for a checkpoint, its periodic ones count; %s",
			 profile->ask_note);
	else if (choice->handler_unseen)
		snprintf(how, room,
			 "no handler for %s is seen in the script: unless a module has one, it "
			 "cannot be asked for a checkpoint, and its periodic ones count",
			 signal_name_format(profile->signal, name));
	else
		snprintf(how, room, "asked with %s; %s%s",
			 signal_name_format(profile->signal, name), profile->ask_note,
			 profile->script_handles ? ", else its periodic checkpoints count" : "");
	return text;
}
