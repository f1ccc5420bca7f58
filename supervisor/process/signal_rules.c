#include "signal_rules.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "signal_name.h"
#include "wait_status.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static bool is_received(int signal)
{
	return signal > 0 && signal < SIGNAL_RULES_COUNT && signal != SIGKILL &&
	       signal != SIGSTOP && signal != SIGCHLD;
}

static int add_one_rewrite(struct signal_rules *signal_rules, char *from, struct err *err)
{
	char *to = strchr(from, '=');
	int left, right;

	if (!to)
		return err_set(err, ERR_INVALID,
			       "invalid rewrite '%s': use FROM=TO, such as INT=TERM or HUP=none",
			       from);
	*to++ = '\0';
	left = signal_name_parse(from);
	right = text_equal(to, "none") || text_equal(to, "0") ? SIGNAL_RULES_DROPPED
							      : signal_name_parse(to);
	if (left <= 0 || right <= 0)
		return err_set(err, ERR_INVALID,
			       "invalid signal '%s': use FROM=TO, such as INT=TERM",
			       left <= 0 ? from : to);
	if (!is_received(left))
		return err_set(err, ERR_INVALID,
			       "SIG%s cannot be received here: use another signal before the '='",
			       left == SIGKILL   ? "KILL"
			       : left == SIGSTOP ? "STOP"
						 : "CHLD");
	signal_rules->counts_as[left] = (uint8_t)right;
	return 0;
}

int signal_rules_add_rewrite(struct signal_rules *signal_rules, const char *text, struct err *err)
{
	auto_free char *rewrites = text_copy(text);
	char *rest = rewrites, *word;

	while ((word = strsep(&rest, ",")))
		if (add_one_rewrite(signal_rules, word, err) < 0)
			return -1;
	return 0;
}

int signal_rules_set_parent_death(struct signal_rules *signal_rules, const char *text,
				  struct err *err)
{
	int signal = text_equal(text, "none") ? 0 : signal_name_parse(text);

	if (signal < 0 || (signal == 0 && !text_equal(text, "none")))
		return err_set(err, ERR_INVALID,
			       "invalid signal '%s': use TERM, KILL, ..., or none", text);
	signal_rules->parent_death = (uint8_t)signal;
	signal_rules->parent_death_chosen = true;
	return 0;
}

int signal_rules_add_success(struct signal_rules *signal_rules, const char *text, struct err *err)
{
	auto_free char *codes = text_copy(text);
	char *rest = codes, *word;
	uint64_t code;

	while ((word = strsep(&rest, ","))) {
		if (!text_to_u64(word, 255, &code))
			return err_set(err, ERR_INVALID,
				       "invalid exit code '%s': use 0 to 255, such as 143 or "
				       "130,143",
				       word);
		signal_rules->success[code / 64] |= UINT64_C(1) << code % 64;
	}
	return 0;
}

int signal_rules_map(const struct signal_rules *signal_rules, int signal)
{
	int as = signal > 0 && signal < SIGNAL_RULES_COUNT ? signal_rules->counts_as[signal] : 0;

	if (as == SIGNAL_RULES_DROPPED)
		return 0;
	return as ? as : signal;
}

int signal_rules_map_wait_status(const struct signal_rules *signal_rules, int wait_status)
{
	int code = wait_status_exit_code(wait_status);

	return signal_rules->success[code / 64] >> code % 64 & 1 ? 0 : wait_status;
}
