#include "signal_name.h"

#include "base/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct row {
	const char *name;
	int number;
};

/* If a number has several names, the first one is printed. */
// clang-format off
static const struct row rows[] = {
	{"HUP", SIGHUP}, {"INT", SIGINT}, {"QUIT", SIGQUIT}, {"ILL", SIGILL}, {"TRAP", SIGTRAP},
	{"ABRT", SIGABRT}, {"BUS", SIGBUS}, {"FPE", SIGFPE}, {"KILL", SIGKILL}, {"USR1", SIGUSR1},
	{"SEGV", SIGSEGV}, {"USR2", SIGUSR2}, {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},
	{"TERM", SIGTERM}, {"STKFLT", SIGSTKFLT}, {"CHLD", SIGCHLD}, {"CONT", SIGCONT},
	{"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}, {"URG", SIGURG},
	{"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF},
	{"WINCH", SIGWINCH}, {"IO", SIGIO}, {"PWR", SIGPWR}, {"SYS", SIGSYS}, {"IOT", SIGIOT},
	{"CLD", SIGCHLD}, {"POLL", SIGPOLL},
};
// clang-format on

#define ROWS (sizeof(rows) / sizeof(rows[0]))

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
	for (size_t i = 0; i < ROWS; i++)
		if (strcasecmp(text, rows[i].name) == 0)
			return rows[i].number;
	if (parse_real_time(text, "RTMIN", '+', &value))
		return SIGRTMIN + (int)value;
	if (parse_real_time(text, "RTMAX", '-', &value))
		return SIGRTMAX - (int)value;
	return 0;
}

const char *signal_name_format(int number, char *buffer)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].number != number)
			continue;
		snprintf(buffer, SIGNAL_NAME_SIZE, "SIG%s", rows[i].name);
		return buffer;
	}
	if (number == SIGRTMIN || number == SIGRTMAX)
		snprintf(buffer, SIGNAL_NAME_SIZE, "SIGRT%s", number == SIGRTMIN ? "MIN" : "MAX");
	else if (number > SIGRTMIN && number < SIGRTMAX)
		snprintf(buffer, SIGNAL_NAME_SIZE, "SIGRTMIN+%d", number - SIGRTMIN);
	else
		snprintf(buffer, SIGNAL_NAME_SIZE, "signal %d", number);
	return buffer;
}
