#include "check_store.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* S3 rejects requests that were signed more than 15 minutes off (RequestTimeTooSkewed); Azure and
 * Google's tokens do the same. */
#define SKEW_FAIL_MS (15 * 60000LL)
#define SKEW_WARN_MS 60000LL
/* The clouds' notices: AWS 120 s; Google and Azure 30 s. */
#define NOTICE_LONG_MS 120000
#define NOTICE_SHORT_MS 30000

static struct check_result *add_result(struct check_list *check_list, const char *check,
				       enum check_level level)
{
	struct check_result *row = &check_list->rows[check_list->count];

	if (check_list->count < CHECK_LIST_MOST - 1)
		check_list->count++;
	row->check = check;
	row->level = level;
	return row;
}

__attribute__((format(printf, 2, 3))) static void set_result_text(struct check_result *row,
								  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(row->text, sizeof(row->text), format, args);
	va_end(args);
}

static void set_result_fix(struct check_result *row, const char *fix)
{
	text_set(row->fix, sizeof(row->fix), fix);
}

/* --- what to do --- */

#define FIX_IF_ABSENT                                                                           \
	"use a store that can put an object only if it is absent: otherwise two machines that " \
	"run one job can overwrite each other"

static const char *fix_of_open(const struct err *err, const char *url)
{
	if (err->kind == ERR_UNFIT)
		return FIX_IF_ABSENT;
	if (err->kind == ERR_DENIED)
		return text_starts(url, "file://")
			       ? "let this user write there, or choose another place with --store"
			       : "use credentials that have access to the bucket";
	if (err->kind == ERR_NOT_FOUND)
		return "create the bucket or container first, or fix the name in --store";
	if (err->kind == ERR_INVALID)
		return "fix the URL, or create the bucket that it names";
	if (err->kind == ERR_RETRY)
		return "check that this machine can reach the endpoint (DNS, proxy, firewall)";
	return "";
}

static const char *fix_of_step(enum probe_step step, const struct err *err, const char *url)
{
	static const char *const permissions[PROBE_STEPS] = {
		[PROBE_PUT] = "allow writing below the prefix: s3:PutObject, "
			      "storage.objects.create, or Storage Blob Data Contributor",
		[PROBE_GET] = "allow reading below the prefix: s3:GetObject, storage.objects.get, "
			      "or Storage Blob Data Contributor",
		[PROBE_LIST] = "allow listing the bucket: s3:ListBucket, storage.objects.list, or "
			       "Storage Blob Data Contributor; without it \"not there\" and \"not "
			       "allowed\" look the same",
		[PROBE_REMOVE] =
			"allow removing below the prefix: s3:DeleteObject, storage.objects.delete, "
			"or Storage Blob Data Contributor; without it no snapshot is ever removed",
	};

	if (err->kind == ERR_NO_SPACE)
		return "keep fewer snapshots (`reprieve forget`), or make it larger";
	if (step == PROBE_IF_ABSENT)
		return FIX_IF_ABSENT;
	if (err->kind == ERR_DENIED && permissions[step] && !text_starts(url, "file://"))
		return permissions[step];
	return fix_of_open(err, url);
}

static void check_open(const struct store_probe *probe, const char *url,
		       struct check_list *check_list)
{
	const struct probe_result *answer = &probe->steps[PROBE_OPEN];
	struct check_result *row =
		add_result(check_list, "store", answer->worked ? CHECK_OK : CHECK_FAIL);

	if (answer->worked) {
		set_result_text(row, "%s%s%s", url, probe->description[0] ? ": " : "",
				probe->description);
		if (!probe->made)
			return;
		row->level = CHECK_WARN;
		set_result_text(row, "%s: the directory does not exist yet; a run creates it", url);
		set_result_fix(row, "check that this is the right place, and that the share is "
				    "mounted there");
		return;
	}
	set_result_text(row, "%s", answer->err.text);
	set_result_fix(row, fix_of_open(&answer->err, url));
}

static void check_step(const struct store_probe *probe, const char *url, enum probe_step step,
		       const char *check, const char *works, struct check_list *check_list)
{
	const struct probe_result *answer = &probe->steps[step];
	struct check_result *row;

	if (!answer->tried)
		return;
	row = add_result(check_list, check, answer->worked ? CHECK_OK : CHECK_FAIL);
	if (answer->worked) {
		set_result_text(row, "%s (%lld ms)", works, (long long)answer->took_ms);
		return;
	}
	set_result_text(row, "%s", answer->err.text);
	set_result_fix(row, fix_of_step(step, &answer->err, url));
	/* Only retention needs to remove objects; saving and restoring work. */
	if (step == PROBE_REMOVE && answer->err.kind == ERR_DENIED)
		row->level = CHECK_WARN;
}

static void check_if_absent(const struct store_probe *probe, const char *url,
			    struct check_list *check_list)
{
	struct check_result *row;

	if (!probe->steps[PROBE_IF_ABSENT].worked || !probe->if_absent_guessed) {
		check_step(probe, url, PROBE_IF_ABSENT, "if-absent",
			   "of two writers of one name, one wins", check_list);
		return;
	}
	row = add_result(check_list, "if-absent", CHECK_WARN);
	set_result_text(row, "not used, because REPRIEVE_S3_CONDITIONAL=off is set: an object is "
			     "looked up first, then put, and two writers of one name may both win");
	set_result_fix(row, "never run one job on two machines at the same time, or use a store "
			    "with if-absent");
}

static void check_existing_data(const struct store_probe *probe, struct check_list *check_list)
{
	struct check_result *row;

	if (probe->steps[PROBE_LIST].worked && probe->steps[PROBE_PUT].worked && !probe->dated) {
		row = add_result(check_list, "age", CHECK_WARN);
		set_result_text(row, "listings do not say when an object was put: `reprieve "
				     "forget` frees no space here");
	}
}

static void check_clock(const struct store_probe *probe, struct check_list *check_list)
{
	int64_t off = llabs((long long)probe->skew_ms);
	struct check_result *row;
	char text[32];

	if (!probe->skew_known)
		return;
	row = add_result(check_list, "clock",
			 off >= SKEW_FAIL_MS   ? CHECK_FAIL
			 : off >= SKEW_WARN_MS ? CHECK_WARN
					       : CHECK_OK);
	if (off < 2000) {
		set_result_text(row, "same as the server's");
		return;
	}
	set_result_text(row, "this machine's clock is %s %s the server's",
			text_duration(off, text, sizeof(text)),
			probe->skew_ms > 0 ? "behind" : "ahead of");
	if (row->level != CHECK_OK)
		set_result_fix(row, "set the clock (chrony, systemd-timesyncd)");
}

/* --- how fast --- */

static void check_speed(const struct store_probe *probe, enum probe_step step, const char *url,
			const char *check, struct check_list *check_list)
{
	const struct probe_result *answer = &probe->steps[step];
	struct check_result *row;
	char rate[24], amount[24];

	if (!answer->tried)
		return;
	row = add_result(check_list, check, answer->worked ? CHECK_OK : CHECK_FAIL);
	if (!answer->worked) {
		set_result_text(row, "%s", answer->err.text);
		set_result_fix(row, fix_of_step(step, &answer->err, url));
		return;
	}
	set_result_text(row, "%s/s (%s on %u connection%s)",
			text_bytes(probe->bytes * 1000 /
					   (uint64_t)(answer->took_ms > 0 ? answer->took_ms : 1),
				   rate, sizeof(rate)),
			text_bytes(probe->bytes, amount, sizeof(amount)), probe->at_once,
			probe->at_once == 1 ? "" : "s");
}

/* In decimal units, as people name sizes: "40 GB". */
static const char *format_size(uint64_t bytes, char *buffer, size_t capacity)
{
	static const char *const units[] = {"MB", "GB", "TB"};
	double value = (double)bytes / 1e6;
	size_t unit = 0;

	for (; value >= 1000 && unit < 2; unit++)
		value /= 1000;
	snprintf(buffer, capacity, value < 1000 ? "%.4g %s" : "%.0f %s", value, units[unit]);
	return buffer;
}

int64_t check_store_transfer_ms(const struct store_probe *probe, uint64_t size)
{
	const struct probe_result *answer = &probe->steps[PROBE_UPLOAD];
	double need_ms;

	if (size == 0 || !answer->worked || probe->bytes == 0)
		return -1;
	need_ms = (double)size / (double)probe->bytes *
		  (double)(answer->took_ms > 0 ? answer->took_ms : 1);
	return need_ms < 1e12 ? (int64_t)need_ms : (int64_t)1e12;
}

/* Of a size that nobody has named, nothing is judged: what fits is said. */
static void check_capacity(const struct store_probe *probe, struct check_list *check_list)
{
	const struct probe_result *answer = &probe->steps[PROBE_UPLOAD];
	uint64_t took_ms = (uint64_t)(answer->took_ms > 0 ? answer->took_ms : 1);
	char some[32], most[32];

	if (answer->worked && probe->bytes > 0)
		check_list_add(check_list, "fit", CHECK_OK, "",
			       "%s fit in %d s, %s in %d s (--size says whether your checkpoint "
			       "does)",
			       format_size(probe->bytes * NOTICE_SHORT_MS / took_ms, some,
					   sizeof(some)),
			       NOTICE_SHORT_MS / 1000,
			       format_size(probe->bytes * NOTICE_LONG_MS / took_ms, most,
					   sizeof(most)),
			       NOTICE_LONG_MS / 1000);
}

static void check_transfer_time(const struct store_probe *probe, uint64_t size,
				struct check_list *check_list)
{
	int64_t need_ms = check_store_transfer_ms(probe, size);
	struct check_result *row;
	char text[32], time[32];

	if (size == 0)
		check_capacity(probe, check_list);
	else if (!probe->steps[PROBE_UPLOAD].tried && probe->steps[PROBE_PUT].worked)
		check_list_add(check_list, "fit", CHECK_WARN, "leave --measure 0 out",
			       "whether %s fit in a notice is not known: nothing was measured",
			       format_size(size, text, sizeof(text)));
	if (need_ms < 0)
		return;
	row = add_result(check_list, "fit", need_ms <= NOTICE_SHORT_MS ? CHECK_OK : CHECK_WARN);
	set_result_text(row, "%s fit in %d s: %s, in %d s: %s (they need about %s)",
			format_size(size, text, sizeof(text)), NOTICE_LONG_MS / 1000,
			need_ms <= NOTICE_LONG_MS ? "yes" : "no", NOTICE_SHORT_MS / 1000,
			need_ms <= NOTICE_SHORT_MS ? "yes" : "no",
			text_duration(need_ms, time, sizeof(time)));
	if (row->level != CHECK_OK)
		set_result_fix(row,
			       "let the job save more often (--every): complete checkpoints are "
			       "uploaded while it trains, and unchanged parts are not sent again");
}

static void check_transport(const struct store_probe *probe, struct check_list *check_list)
{
	if (probe->in_the_clear)
		check_list_add(check_list, "transport", CHECK_WARN,
			       "let the endpoint be https; `run --strict` refuses this one",
			       "requests go to another machine over plain http: whoever is on the "
			       "way can use the credentials and replace checkpoints");
}

void check_store(const struct store_probe *probe, const char *url, uint64_t size,
		 struct check_list *check_list)
{
	*check_list = (struct check_list){0};
	check_open(probe, url, check_list);
	check_transport(probe, check_list);
	check_step(probe, url, PROBE_PUT, "put", "an object can be written", check_list);
	check_step(probe, url, PROBE_GET, "get", "it reads back as it was written", check_list);
	check_if_absent(probe, url, check_list);
	check_step(probe, url, PROBE_LIST, "list",
		   probe->steps[PROBE_PUT].worked ? "it is listed at once"
						  : "what is there can be listed",
		   check_list);
	check_step(probe, url, PROBE_REMOVE, "delete", "it can be removed", check_list);
	check_existing_data(probe, check_list);
	check_clock(probe, check_list);
	check_speed(probe, PROBE_UPLOAD, url, "up", check_list);
	check_speed(probe, PROBE_DOWNLOAD, url, "down", check_list);
	check_transfer_time(probe, size, check_list);
}

void check_no_store(struct check_list *check_list)
{
	*check_list = (struct check_list){0};
	check_list_add(check_list, "store", CHECK_FAIL, "choose a place with --store",
		       "no store: neither HOME nor XDG_STATE_HOME is set, so nothing would be "
		       "saved");
}

void check_list_add(struct check_list *check_list, const char *check, enum check_level level,
		    const char *fix, const char *format, ...)
{
	struct check_result *row = &check_list->rows[check_list->count];
	va_list args;

	if (check_list->count == CHECK_LIST_MOST)
		return;
	check_list->count++;
	row->check = check;
	row->level = level;
	va_start(args, format);
	vsnprintf(row->text, sizeof(row->text), format, args);
	va_end(args);
	text_set(row->fix, sizeof(row->fix), fix);
}

enum check_level check_list_worst(const struct check_list *check_list)
{
	enum check_level worst = CHECK_OK;

	for (size_t i = 0; i < check_list->count; i++)
		if (check_list->rows[i].level > worst)
			worst = check_list->rows[i].level;
	return worst;
}

const char *check_level_name(enum check_level level)
{
	static const char *const names[] =
		{[CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail"};

	return names[level];
}
