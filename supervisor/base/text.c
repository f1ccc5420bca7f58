#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <string.h>

static void *abort_if_null(void *memory)
{
	if (!memory) {
		static const char said[] = "reprieve: out of memory\n";
		ssize_t ignored = write(STDERR_FILENO, said, sizeof(said) - 1);
		(void)ignored;
		abort();
	}
	return memory;
}

void *memory_new(size_t size)
{
	return abort_if_null(calloc(1, size ? size : 1));
}

void *memory_grow(void *memory, size_t count, size_t size)
{
	return abort_if_null(reallocarray(memory, count ? count : 1, size));
}

char *text_copy(const char *text)
{
	return abort_if_null(strdup(text));
}

char *text_copy_n(const char *text, size_t length)
{
	return memcpy(memory_new(strnlen(text, length) + 1), text, strnlen(text, length));
}

char *text_format_list(const char *format, va_list args)
{
	char *text = NULL;
	int length = vasprintf(&text, format, args);

	return abort_if_null(length < 0 ? NULL : text);
}

char *text_format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = text_format_list(format, args);
	va_end(args);
	return text;
}

void text_append(char **text, const char *format, ...)
{
	auto_free char *before = *text, *more = NULL;
	va_list args;

	va_start(args, format);
	more = text_format_list(format, args);
	va_end(args);
	*text = text_format("%s%s", before ? before : "", more);
}

const char *text_from_environment(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

bool text_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool text_matches(const char *text, const char *pattern)
{
	regex_t regex;
	bool found;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB) != 0)
		return false;
	found = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

const char *text_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool text_path_climbs(const char *path)
{
	for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
		if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
			return true;
	return false;
}

bool text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
	size_t length = strlen(text), end = strlen(suffix);

	return length >= end && strcmp(text + length - end, suffix) == 0;
}

bool text_is_one_of(const char *text, const char *const *words)
{
	while (*words && !text_equal(text, *words))
		words++;
	return *words != NULL;
}

static bool is_continuation_byte(char byte)
{
	return ((unsigned char)byte & 0xC0) == 0x80;
}

void text_set(char *target, size_t capacity, const char *source)
{
	size_t length = source ? strlen(source) : 0;

	if (capacity == 0)
		return;
	if (length >= capacity) {
		length = capacity - 1;
		for (int i = 0; i < 3 && length > 0 && is_continuation_byte(source[length]); i++)
			length--;
	}
	if (length)
		memmove(target, source, length);
	target[length] = '\0';
}

void text_elide(char *target, size_t capacity, const char *source)
{
	static const char gap[] = "...";
	size_t length = strlen(source), end;

	if (length < capacity) {
		memcpy(target, source, length + 1);
		return;
	}
	end = length - (capacity - sizeof(gap)) / 2;
	for (int i = 0; i < 3 && is_continuation_byte(source[end]); i++)
		end++;
	text_set(target, capacity - (length - end) - sizeof(gap) + 1, source);
	strcat(target, gap);
	strcat(target, source + end);
}

/* The length of the UTF-8 character at `text`; 0: it is not one. RFC 3629, section 4. */
static size_t utf8_size(const char *text)
{
	unsigned char first = (unsigned char)text[0], second;
	size_t size = first < 0x80                    ? 1
		      : first >= 0xC2 && first < 0xE0 ? 2
		      : first >= 0xE0 && first < 0xF0 ? 3
		      : first >= 0xF0 && first < 0xF5 ? 4
						      : 0;

	for (size_t i = 1; i < size; i++)
		if (!is_continuation_byte(text[i]))
			return 0;
	second = size > 1 ? (unsigned char)text[1] : 0;
	/* Overlong, half of a UTF-16 surrogate pair, or beyond U+10FFFF. */
	if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
	    (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
		return 0;
	return size;
}

void text_to_utf8(char *text)
{
	while (*text) {
		size_t size = utf8_size(text);

		if (size == 0)
			*text = '?';
		text += size ? size : 1;
	}
}

void text_to_line(char *text)
{
	text_to_utf8(text);
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			*text = ' ';
}

void text_to_printable(char *text)
{
	text_to_utf8(text);
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text))
			*text = '?';
		/* U+0080 to U+009F: some terminals treat these like ESC and a letter. */
		else if (text[0] == '\xC2' && (unsigned char)text[1] < 0xA0)
			text[0] = text[1] = '?';
	}
}

static bool is_printable(const char *text)
{
	auto_free char *shown = text_copy(text);

	text_to_printable(shown);
	return strcmp(shown, text) == 0;
}

char *text_escape_markup(const char *text)
{
	static const char special[] = "&<>\"";
	static const char *const escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
	auto_free char *line = text_copy(text);
	char *out = memory_new(strlen(line) * 6 + 1), *end = out;

	text_to_line(line);
	for (const char *at = line; *at; at++) {
		const char *found = strchr(special, *at);

		if (found)
			end = stpcpy(end, escaped[found - special]);
		else
			*end++ = *at;
	}
	return out;
}

char *text_shell_word(const char *text)
{
	static const char literal[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:@_";
	bool printable = is_printable(text);
	/* Of one byte at most four are made. */
	char *word = memory_new(4 * strlen(text) + sizeof("$''")), *end = word;

	if (*text && text[strspn(text, literal)] == '\0')
		return strcpy(word, text);
	end = stpcpy(end, printable ? "'" : "$'");
	for (; *text; text++) {
		if (printable && *text == '\'')
			end = stpcpy(end, "'\\''");
		else if (printable)
			*end++ = *text;
		else if (strchr(literal, *text))
			*end++ = *text;
		else
			end += sprintf(end, "\\%03o", (unsigned)(unsigned char)*text);
	}
	*end++ = '\'';
	return word;
}

bool text_to_u64(const char *text, uint64_t most, uint64_t *value)
{
	char *end;
	unsigned long long number;

	if (!text || !isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || *end || number > most)
		return false;
	*value = number;
	return true;
}

bool text_to_duration_ms(const char *text, int64_t *milliseconds)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {
		{"", 1000},   {"ms", 1},      {"s", 1000},    {"sec", 1000},
		{"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000},
	};
	char *end;
	double number;

	if (!text || !(isdigit((unsigned char)text[0]) || text[0] == '.'))
		return false;
	number = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		number *= units[i].factor;
		if (!(number >= 0 && number < 1e15))
			return false;
		*milliseconds = llround(number);
		return true;
	}
	return false;
}

const char *text_bytes(uint64_t bytes, char *buffer, size_t capacity)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
	double value = (double)bytes;
	int unit = -1;

	if (bytes < 1024) {
		snprintf(buffer, capacity, "%" PRIu64 " B", bytes);
		return buffer;
	}
	do {
		value /= 1024;
		unit++;
	} while (value >= 1024 && unit < 4);
	snprintf(buffer, capacity, value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buffer;
}

const char *text_duration(int64_t milliseconds, char *buffer, size_t capacity)
{
	int64_t seconds = milliseconds / 1000;

	if (milliseconds < 0)
		snprintf(buffer, capacity, "0 s");
	else if (milliseconds < 1000)
		snprintf(buffer, capacity, "%" PRId64 " ms", milliseconds);
	else if (milliseconds < 10000)
		snprintf(buffer, capacity, "%.1f s", (double)milliseconds / 1000);
	else if (seconds < 60)
		snprintf(buffer, capacity, "%" PRId64 " s", seconds);
	else if (seconds < 3600)
		snprintf(buffer, capacity, "%" PRId64 " min %" PRId64 " s", seconds / 60,
			 seconds % 60);
	else
		snprintf(buffer, capacity, "%" PRId64 " h %" PRId64 " min", seconds / 3600,
			 seconds / 60 % 60);
	return buffer;
}

bool text_to_bytes(const char *text, uint64_t *bytes)
{
	static const char letters[] = "kMGTP";
	const char *letter;
	double value, factor = 1;
	char *end;

	if (!text || !isdigit((unsigned char)text[0]))
		return false;
	value = strtod(text, &end);
	if (*end == ' ')
		end++;
	letter = *end ? strchr(letters, *end == 'K' ? 'k' : *end) : NULL;
	if (letter) {
		end++;
		for (const char *each = letters; each <= letter; each++)
			factor *= *end == 'i' ? 1024 : 1000;
		end += *end == 'i';
	}
	end += *end == 'B';
	if (*end || !isfinite(value) || value * factor >= 9e18)
		return false;
	*bytes = (uint64_t)(value * factor);
	return true;
}

void text_hex(const uint8_t *bytes, size_t count, char *target)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		target[2 * i] = digits[bytes[i] >> 4];
		target[2 * i + 1] = digits[bytes[i] & 15];
	}
	target[2 * count] = '\0';
}

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return -1;
}

bool text_unhex(const char *hex, uint8_t *bytes, size_t count)
{
	if (strlen(hex) != 2 * count)
		return false;
	for (size_t i = 0; i < count; i++) {
		int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

int bytes_reserve(struct bytes *bytes, size_t more, struct err *err)
{
	size_t limit = bytes->limit ? bytes->limit : (size_t)1 << 30;
	size_t capacity;
	uint8_t *data;

	bytes->overflowed = more > limit || bytes->size > limit - more;
	if (bytes->overflowed)
		return err_set(err, ERR_FAILED, "more than %zu bytes", limit);
	if (bytes->size + more <= bytes->capacity)
		return 0;
	capacity = bytes->capacity * 2;
	if (capacity < bytes->size + more)
		capacity = bytes->size + more;
	if (capacity < 256)
		capacity = 256;
	data = realloc(bytes->data, capacity);
	if (!data)
		return err_os(err, ENOMEM, "buffer of %zu bytes", capacity);
	bytes->data = data;
	bytes->capacity = capacity;
	return 0;
}

int bytes_append(struct bytes *bytes, const void *data, size_t size, struct err *err)
{
	if (size == 0)
		return 0;
	if (bytes_reserve(bytes, size, err) < 0)
		return -1;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	return 0;
}

int bytes_format(struct bytes *bytes, struct err *err, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, format);
	text = text_format_list(format, args);
	va_end(args);
	/* With the NUL, which does not count. */
	if (bytes_append(bytes, text, strlen(text) + 1, err) < 0)
		return -1;
	bytes->size--;
	return 0;
}

void bytes_release(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){.limit = bytes->limit};
}
