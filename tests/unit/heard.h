/* What a call writes to stderr. */
#ifndef HEARD_H
#define HEARD_H

#include <stdio.h>
#include <unistd.h>

static int heard_begin(FILE *kept)
{
	int saved = dup(STDERR_FILENO);

	dup2(fileno(kept), STDERR_FILENO);
	return saved;
}

static const char *heard_end(FILE *kept, int saved)
{
	static char text[16384];
	size_t got;

	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(kept);
	got = fread(text, 1, sizeof(text) - 1, kept);
	text[got] = '\0';
	fclose(kept);
	return text;
}

/* Stands until the next one. */
#define HEARD(call)                            \
	({                                     \
		FILE *kept = tmpfile();        \
		int saved = heard_begin(kept); \
		call;                          \
		heard_end(kept, saved);        \
	})

#endif
