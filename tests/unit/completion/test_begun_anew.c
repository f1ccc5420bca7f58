/* Which jobs are said to have begun anew, and which never are. */
#include "completion/begun_anew.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// clang-format off
/*
 * What lies there, and what is reported then: of a file with that inode, "o" that it was opened for
 * writing, empty, "w" with content, "a" to add to it, and "r" for reading; "m" that something got
 * that name; "n" that what had it got another; "?" that reports are lost.
 */
static const struct {
	const char *what;
	const char *found[4];
	const char *reports[6];
	int64_t complete; /* the step of the checkpoint that is complete then; -1: none */
	bool anew;
} rows[] = {
	{"no resume", {"ckpt-50.pt"}, {"o1 ckpt-10.pt"}, 10, true},
	{"beside a temporary name", {"ckpt-50.pt"}, {"o1 ckpt-10.pt.tmp", "m ckpt-10.pt"}, 10, true},
	{"a directory", {"step-50/a", "step-50/b"}, {"o1 step-10/a", "o2 step-10/b"}, 10, true},
	{"a renamed one", {"step-50/a"}, {"o1 tmp-step-10/a", "m step-10"}, 10, true},
	{"over what lies there", {"step-10.pt", "step-50.pt"}, {"o1 step-10.pt"}, 10, true},
	{"it reads back its own", {"ckpt-50.pt"}, {"o1 ckpt-10.pt", "r1 ckpt-10.pt"}, 10, true},
	{"what lies beside it, first", {"ckpt-50.pt"}, {"o1 log.csv", "o2 ckpt-10.pt"}, 10, true},
	{"a number that counts nothing", {"ckpt-50.pt", "vocab_32000.json"}, {"o1 vocab_32000.json", "o2 ckpt-10.pt"}, 10, true},

	/* It has gone on, or may have. */
	{"resumes", {"ckpt-50.pt"}, {"r9 ckpt-50.pt", "o1 ckpt-60.pt"}, 60, false},
	{"reads, and counts anew", {"ckpt-50.pt"}, {"r9 ckpt-50.pt", "o1 ckpt-10.pt"}, 10, false},
	{"reads any other file", {"ckpt-50.pt", "state"}, {"r9 state", "o1 ckpt-10.pt"}, 10, false},
	{"reads before the save is complete", {"ckpt-50.pt"}, {"o1 ckpt-10.pt", "r9 ckpt-50.pt"}, 10, false},
	{"goes on, unseen", {"ckpt-50.pt"}, {"o1 ckpt-60.pt", "o2 ckpt-10.pt"}, 10, false},
	{"the same step again", {"ckpt-50.pt"}, {"o1 ckpt-50.pt", "o2 ckpt-10.pt"}, 10, false},
	{"opens too many to tell", {"ckpt-50.pt"}, {"r0 ", "o1 ckpt-10.pt"}, 10, false},
	{"reports are lost", {"ckpt-50.pt"}, {"?", "o1 ckpt-10.pt"}, 10, false},
	/* Without the library nobody knows what it reads. */
	{"who saves is not heard", {"ckpt-50.pt"}, {NULL}, 10, false},
	{"touches what lies there", {"ckpt-10.pt", "ckpt-50.pt"}, {"w9 ckpt-10.pt"}, 10, false},
	{"opens it to change it", {"ckpt-50.pt"}, {"w9 ckpt-50.pt", "o1 ckpt-10.pt"}, 10, false},
	{"adds to a log", {"ckpt-50.pt", "log-1.csv"}, {"a9 log-1.csv", "o1 ckpt-10.pt"}, 10, true},
	{"adds to its own", {"ckpt-50.pt"}, {"o1 ckpt-10.pt", "w1 ckpt-10.pt"}, 10, true},
	{"moves it away", {"ckpt-50.pt"}, {"n ckpt-50.pt", "o1 ckpt-10.pt"}, 10, false},
	{"writes what it begins with", {"ckpt-50.pt"}, {"o1 ckpt-0.pt"}, 0, false},
	{"and then goes on", {"ckpt-50.pt"}, {"o1 ckpt-0.pt", "o2 ckpt-60.pt"}, 60, false},
	{"and then does not", {"ckpt-50.pt"}, {"o1 ckpt-0.pt", "o2 ckpt-10.pt"}, 10, true},
	/* Another name has another count. */
	{"another phase", {"fit/ckpt-50.pt"}, {"o1 tune/ckpt-10.pt"}, 10, false},
	{"another count", {"step-500.pt"}, {"o1 epoch-3.pt"}, 3, false},
	{"another fold", {"fold1/step-500.pt"}, {"o1 fold2/step-10.pt"}, 10, false},
	{"fixed names", {"last.pt"}, {"o1 last.pt"}, -1, false},
	{"nothing lies there", {NULL}, {"o1 ckpt-10.pt"}, 10, false},
	/* Not yet, or never. */
	{"not complete", {"ckpt-50.pt"}, {"o1 ckpt-10.pt"}, -1, false},
	{"another one is complete", {"ckpt-50.pt"}, {"o1 ckpt-10.pt"}, 50, false},
};
// clang-format on

static void hear(struct begun_anew *begun_anew, const char *report)
{
	struct shim_message message = {.path = "", .path2 = "", .device = 8};
	const char *path = strchr(report, ' ');

	if (report[0] == '?') {
		message.lost = true;
	} else if (report[0] == 'm') {
		message.event = SHIM_RENAMED;
		message.path2 = path + 1;
	} else if (report[0] == 'n') {
		message.event = SHIM_RENAMED;
		message.path = path + 1;
	} else {
		message.event = report[0] == 'r' ? SHIM_READ : SHIM_OPENED;
		message.flags = report[0] == 'o'   ? SHIM_FLAG_EMPTY
				: report[0] == 'a' ? SHIM_FLAG_APPENDS
						   : 0;
		message.inode = (uint64_t)(report[1] - '0');
		message.path = path + 1;
	}
	begun_anew_hear(begun_anew, &message);
}

static void test_who_has_begun_anew(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct begun_anew begun_anew = {0};

		begun_anew_expect(&begun_anew, (char *const *)rows[i].found);
		for (const char *const *report = rows[i].reports; *report; report++)
			hear(&begun_anew, *report);
		if (begun_anew_decide(&begun_anew, rows[i].complete) != rows[i].anew)
			fail_msg("%s", rows[i].what);
		if (rows[i].anew && (begun_anew.saved != 10 || begun_anew.found != 50))
			fail_msg("%s: %lld after %lld", rows[i].what, (long long)begun_anew.saved,
				 (long long)begun_anew.found);
		/* Once. */
		assert_false(begun_anew_decide(&begun_anew, rows[i].anew ? 20 : -1));
		begun_anew_release(&begun_anew);
	}
}

/* A job that writes very many files before its first save is complete is not followed. */
static void test_many_files(void **state)
{
	struct begun_anew begun_anew = {0};
	struct shim_message message = {.event = SHIM_OPENED, .path2 = ""};

	(void)state;
	begun_anew_expect(&begun_anew, (char *const[]){"ckpt-50.pt", NULL});
	for (uint64_t inode = 1; inode < 5000; inode++) {
		auto_free char *path = text_format("x/%llu.bin", (unsigned long long)inode);

		message.inode = inode;
		message.path = path;
		begun_anew_hear(&begun_anew, &message);
	}
	hear(&begun_anew, "o1 ckpt-10.pt");
	assert_false(begun_anew_decide(&begun_anew, 10));
	begun_anew_release(&begun_anew);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_has_begun_anew),
		cmocka_unit_test(test_many_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
