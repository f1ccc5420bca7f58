#include "signal_name.h"

#include "base/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
