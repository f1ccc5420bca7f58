#include "process.h"

#include "base/text.h"

#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

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

/* --- signals by name --- */

/* glibc prints the other name of the number. */
static const struct {
	const char *name;
	int number;
} aliases[] = {{"IO", SIGIO}, {"IOT", SIGABRT}, {"CLD", SIGCHLD}};

/* "RTMIN+3" with base "RTMIN" and sign '+'. */
static bool parse_real_time(const char *text, const char *base, char sign, uint64_t *offset)
{
	size_t length = strlen(base);

	if (strncasecmp(text, base, length) != 0)
		return false;
	*offset = 0;
	return text[length] == '\0' ||
	       (text[length] == sign &&
		text_to_u64(text + length + 1, (uint64_t)(SIGRTMAX - SIGRTMIN), offset));
}

static bool is_usable(int number)
{
	return (number >= 1 && number < 32) || (number >= SIGRTMIN && number <= SIGRTMAX);
}

int signal_name_parse(const char *text)
{
	uint64_t value;

	if (text_to_u64(text, (uint64_t)SIGRTMAX, &value))
		return is_usable((int)value) ? (int)value : 0;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int number = 1; number < 32; number++)
		if (strcasecmp(text, sigabbrev_np(number)) == 0)
			return number;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		if (strcasecmp(text, aliases[i].name) == 0)
			return aliases[i].number;
	if (parse_real_time(text, "RTMIN", '+', &value))
		return SIGRTMIN + (int)value;
	if (parse_real_time(text, "RTMAX", '-', &value))
		return SIGRTMAX - (int)value;
	return 0;
}

const char *signal_name_format(int number, char *buffer)
{
	if (number >= 1 && number < 32)
		snprintf(buffer, SIGNAL_NAME_SIZE, "SIG%s", sigabbrev_np(number));
	else if (number == SIGRTMIN || number == SIGRTMAX)
		snprintf(buffer, SIGNAL_NAME_SIZE, "SIGRT%s", number == SIGRTMIN ? "MIN" : "MAX");
	else if (number > SIGRTMIN && number < SIGRTMAX)
		snprintf(buffer, SIGNAL_NAME_SIZE, "SIGRTMIN+%d", number - SIGRTMIN);
	else
		snprintf(buffer, SIGNAL_NAME_SIZE, "signal %d", number);
	return buffer;
}

int wait_status_exit_code(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
