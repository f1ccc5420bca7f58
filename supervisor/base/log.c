#include "base/log.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static atomic_int level = LOG_LEVEL_NOTE;
static char prefix[24] = "reprieve";

void log_set_level(enum log_level chosen)
{
	atomic_store(&level, (int)chosen);
}

void log_set_member(unsigned member)
{
	snprintf(prefix, sizeof(prefix), "reprieve[%u]", member);
}

size_t log_prefix_length(const char *line, size_t length)
{
	static const char name[] = "reprieve";
	size_t at = sizeof(name) - 1;

	if (length < at || memcmp(line, name, at) != 0)
		return 0;
	if (at < length && line[at] == '[') {
		for (at++; at < length && line[at] >= '0' && line[at] <= '9';)
			at++;
		if (at >= length || line[at++] != ']')
			return 0;
	}
	return at + 2 <= length && line[at] == ':' && line[at + 1] == ' ' ? at + 2 : 0;
}

bool log_shows(enum log_level wanted)
{
	return atomic_load(&level) >= (int)wanted;
}

/* Never waits: the reader of a pipe may not read, and a terminal may be stopped (Ctrl-S). */
static void write_line(const char *line, size_t length)
{
	static atomic_uint missing;
	unsigned lines = atomic_exchange(&missing, 0);
	char text[80];

	if (lines > 0) {
		snprintf(text, sizeof(text), "%s: %u lines are missing here: nobody read them\n",
			 prefix, lines);
		if (!status_line_write(text, strlen(text))) {
			atomic_fetch_add(&missing, lines + 1);
			return;
		}
	}
	if (!status_line_write(line, length))
		atomic_fetch_add(&missing, 1);
}

__attribute__((format(printf, 2, 0))) static void format_line(const char *kind, const char *format,
							      va_list args)
{
	char whole[8192], line[1024];
	int used = snprintf(whole, sizeof(whole), "%s: %s", prefix, kind);
	size_t length;

	vsnprintf(whole + used, sizeof(whole) - (size_t)used, format, args);
	text_elide(line, sizeof(line) - 1, whole);
	/* Each message stays one line: a path may have newlines or terminal escapes in it. */
	text_to_printable(line);
	length = strlen(line);
	line[length++] = '\n';
	write_line(line, length);
}

#define PRINT(least, kind)                         \
	do {                                       \
		va_list args;                      \
		if (atomic_load(&level) < (least)) \
			return;                    \
		va_start(args, format);            \
		format_line(kind, format, args);   \
		va_end(args);                      \
	} while (0)

void log_error(const char *format, ...)
{
	PRINT(LOG_LEVEL_QUIET, "error: ");
}

void log_warn(const char *format, ...)
{
	PRINT(LOG_LEVEL_WARN, "warning: ");
}

void log_note(const char *format, ...)
{
	PRINT(LOG_LEVEL_NOTE, "");
}

void log_debug(const char *format, ...)
{
	PRINT(LOG_LEVEL_DEBUG, "debug: ");
}

/* --- standard error as a screen --- */

#define COLUMNS_MOST 1000
#define ERASE "\r\x1b[K"

enum stream_kind {
	STREAM_OTHER,
	STREAM_FILE,
	STREAM_SCREEN,
};

static struct {
	pthread_mutex_t mutex;
	dev_t device; /* of standard error, when `fd` was opened */
	ino_t inode;
	enum stream_kind kind;
	int fd;      /* the same file once more: a flag of ours is not the job's; -1: none */
	bool shown;  /* a status line is on the screen, and the cursor behind it */
	bool shared; /* others write there, too */
	bool torn;   /* a line of ours was written in part */
} screen = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* --- what standard error is --- */

static bool may_redraw(void)
{
	const char *terminal = text_from_environment("TERM");
	const char *automatic = text_from_environment("CI");

	return terminal && !text_equal(terminal, "dumb") &&
	       (!automatic || text_equal(automatic, "false") || text_equal(automatic, "0"));
}

static unsigned terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col < COLUMNS_MOST ? size.ws_col : COLUMNS_MOST;
}

/* A line of ours would be drawn over what others show: the shell's prompt, an editor. A job of ours
 * that had the terminal and has ended is none of them; nor is a terminal that has no foreground. */
static bool is_in_background(void)
{
	pid_t foreground = tcgetpgrp(STDERR_FILENO);

	return foreground > 0 && foreground != getpgrp() &&
	       (kill(-foreground, 0) == 0 || errno == EPERM);
}

static bool can_draw(void)
{
	return screen.kind == STREAM_SCREEN && terminal_width() > 0 && !is_in_background();
}

static enum stream_kind kind_of_stream(mode_t mode)
{
	if (S_ISREG(mode))
		return STREAM_FILE;
	return S_ISCHR(mode) && isatty(STDERR_FILENO) && may_redraw()
		       ? STREAM_SCREEN
		       : STREAM_OTHER;
}

/* The terminal is opened once more, because O_NONBLOCK belongs to all who have a description; the
 * file, because ours is mostly not for reading. */
static void look_at_stream(void)
{
	static const int flags[] = {
		[STREAM_FILE] = O_RDONLY,
		[STREAM_SCREEN] = O_WRONLY | O_NONBLOCK | O_NOCTTY,
	};
	struct stat status = {0};

	(void)fstat(STDERR_FILENO, &status);
	if (screen.inode == status.st_ino && screen.device == status.st_dev && screen.inode != 0)
		return;
	if (screen.fd >= 0)
		close(screen.fd);
	screen.fd = -1;
	screen.shown = screen.torn = false;
	screen.device = status.st_dev;
	screen.inode = status.st_ino;
	screen.kind = kind_of_stream(status.st_mode);
	if (screen.kind != STREAM_OTHER)
		screen.fd = open("/proc/self/fd/2", flags[screen.kind] | O_CLOEXEC);
	if (screen.fd < 0)
		screen.kind = STREAM_OTHER;
}

/* --- writing --- */

/* A pipe that polls as writable accepts a line this short at once (pipe(7)). */
static bool write_text(const char *text, size_t length)
{
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	ssize_t written;

	if (screen.kind == STREAM_SCREEN) {
		written = write(screen.fd, text, length);
		screen.torn = written >= 0 && (size_t)written < length;
		return written >= 0 || errno != EAGAIN;
	}
	if (poll(&room, 1, 0) == 0)
		return false;
	written = write(STDERR_FILENO, text, length);
	(void)written;
	return true;
}

static bool file_ends_in_line(void)
{
	bool appends = fcntl(STDERR_FILENO, F_GETFL) & O_APPEND;
	off_t end = appends ? lseek(screen.fd, 0, SEEK_END) : lseek(STDERR_FILENO, 0, SEEK_CUR);
	char last;

	return end > 0 && pread(screen.fd, &last, 1, end - 1) == 1 && last != '\n';
}

/* What puts the cursor at the start of a line of its own. */
static void format_lead(char lead[COLUMNS_MOST + 8])
{
	unsigned width = terminal_width();

	lead[0] = '\0';
	if (screen.kind == STREAM_FILE && file_ends_in_line())
		strcpy(lead, "\n");
	else if (screen.kind == STREAM_SCREEN && screen.shown)
		strcpy(lead, ERASE);
	else if (screen.kind == STREAM_SCREEN && (screen.shared || screen.torn) && width > 0)
		snprintf(lead, COLUMNS_MOST + 8, "%*s" ERASE, (int)width, "");
}

bool status_line_write(const char *line, size_t length)
{
	auto_(bytes_release) struct bytes text = {0};
	char lead[COLUMNS_MOST + 8];
	bool written;

	pthread_mutex_lock(&screen.mutex);
	look_at_stream();
	format_lead(lead);
	bytes_append(&text, lead, strlen(lead), NULL);
	bytes_append(&text, line, length, NULL);
	written = write_text((const char *)text.data, text.size);
	if (written)
		screen.shown = false;
	pthread_mutex_unlock(&screen.mutex);
	return written;
}

/* --- the line that is drawn again --- */

bool status_line_is_possible(void)
{
	bool possible;

	pthread_mutex_lock(&screen.mutex);
	look_at_stream();
	possible = can_draw();
	pthread_mutex_unlock(&screen.mutex);
	return possible;
}

void status_line_show(const char *text)
{
	char line[2 * COLUMNS_MOST + 16];
	unsigned width;
	bool shown;

	pthread_mutex_lock(&screen.mutex);
	look_at_stream();
	if (can_draw()) {
		format_lead(line);
		/* A terminal wraps after the last column. */
		width = terminal_width() > 1 ? terminal_width() - 1 : 1;
		/* What was shown is written over, not erased first: nothing flickers. */
		if (screen.shown)
			strcpy(line, "\r");
		snprintf(line + strlen(line), COLUMNS_MOST + 8, "%.*s\x1b[K", (int)width, text);
		shown = screen.shown;
		screen.shown = true;
		if (!write_text(line, strlen(line)))
			screen.shown = shown;
	}
	pthread_mutex_unlock(&screen.mutex);
}

void status_line_clear(void)
{
	pthread_mutex_lock(&screen.mutex);
	if (screen.shown && write_text(ERASE, strlen(ERASE)))
		screen.shown = false;
	pthread_mutex_unlock(&screen.mutex);
}

void status_line_share(void)
{
	pthread_mutex_lock(&screen.mutex);
	screen.shared = true;
	pthread_mutex_unlock(&screen.mutex);
}

/* --- signals --- */

static void on_fatal_signal(int signal)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	struct sigaction own;
	ssize_t ignored;
	int reason = errno;
	sigset_t this_one;

	if (screen.shown) {
		ignored = write(screen.fd, ERASE, strlen(ERASE));
		(void)ignored;
	}
	sigaction(signal, &standard, &own);
	raise(signal);
	sigemptyset(&this_one);
	sigaddset(&this_one, signal);
	pthread_sigmask(SIG_UNBLOCK, &this_one, NULL);
	/* It was stopped, and goes on. */
	sigaction(signal, &own, NULL);
	errno = reason;
}

void status_line_keep_clean(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
	const struct sigaction handling = {.sa_handler = on_fatal_signal, .sa_flags = SA_RESTART};
	struct sigaction now;
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigismember(&blocked, signals[i]) && sigaction(signals[i], NULL, &now) == 0 &&
		    now.sa_handler == SIG_DFL)
			sigaction(signals[i], &handling, NULL);
}

/* --- lines on standard output --- */

void terminal_print(const char *format, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, format);
	text = text_format_list(format, args);
	va_end(args);
	text_to_printable(text);
	fputs(text, stdout);
}
