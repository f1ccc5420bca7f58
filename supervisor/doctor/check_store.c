#include "doctor.h"

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

static void check_open(const struct store_probe *probe, const char *url, struct check_list *list)
{
	const struct probe_result *answer = &probe->steps[PROBE_OPEN];

	if (!answer->worked)
		check_add(list, "store", CHECK_FAIL, fix_of_open(&answer->err, url), "%s",
			  answer->err.text);
	else if (probe->made)
		check_add(list, "store", CHECK_WARN,
			  "check that this is the right place, and that the share is mounted there",
			  "%s: the directory does not exist yet; a run creates it", url);
	else
		check_add(list, "store", CHECK_OK, "", "%s%s%s", url,
			  probe->description[0] ? ": " : "", probe->description);
}

/* `works`: what is so if it does, before how long it took. */
static void check_step(const struct store_probe *probe, const char *url, enum probe_step step,
		       const char *check, const char *works, struct check_list *list)
{
	const struct probe_result *answer = &probe->steps[step];
	/* Only retention needs to remove objects; saving and restoring work. */
	bool spared = step == PROBE_REMOVE && answer->err.kind == ERR_DENIED;

	if (answer->worked)
		check_add(list, check, CHECK_OK, "", "%s (%lld ms)", works,
			  (long long)answer->took_ms);
	else if (answer->tried)
		check_add(list, check, spared ? CHECK_WARN : CHECK_FAIL,
			  fix_of_step(step, &answer->err, url), "%s", answer->err.text);
}

static void check_if_absent(const struct store_probe *probe, const char *url,
			    struct check_list *list)
{
	if (!probe->steps[PROBE_IF_ABSENT].worked || !probe->if_absent_guessed)
		check_step(probe, url, PROBE_IF_ABSENT, "if-absent",
			   "of two writers of one name, one wins", list);
	else
		check_add(list, "if-absent", CHECK_WARN,
			  "never run one job on two machines at the same time, or use a store with "
			  "if-absent",
			  "not used, because REPRIEVE_S3_CONDITIONAL=off is set: an object is "
			  "looked up first, then put, and two writers of one name may both win");
}

static void check_clock(const struct store_probe *probe, struct check_list *list)
{
	int64_t off = llabs((long long)probe->skew_ms);
	enum check_level level = off >= SKEW_FAIL_MS   ? CHECK_FAIL
				 : off >= SKEW_WARN_MS ? CHECK_WARN
						       : CHECK_OK;
	char text[32];

	if (!probe->skew_known)
		return;
	if (off < 2000)
		check_add(list, "clock", CHECK_OK, "", "same as the server's");
	else
		check_add(list, "clock", level,
			  level == CHECK_OK ? "" : "set the clock (chrony, systemd-timesyncd)",
			  "this machine's clock is %s %s the server's",
			  text_duration(off, text, sizeof(text)),
			  probe->skew_ms > 0 ? "behind" : "ahead of");
}

/* --- how fast --- */

/* How much that is in so long, at the measured speed. */
static uint64_t bytes_in(const struct store_probe *probe, enum probe_step step, uint64_t in_ms)
{
	int64_t took_ms = probe->steps[step].took_ms;

	return probe->bytes * in_ms / (uint64_t)(took_ms > 0 ? took_ms : 1);
}

static void check_speed(const struct store_probe *probe, enum probe_step step, const char *url,
			const char *check, struct check_list *list)
{
	char rate[24], amount[24];

	if (!probe->steps[step].worked)
		check_step(probe, url, step, check, "", list);
	else
		check_add(list, check, CHECK_OK, "", "%s/s (%s on %u connection%s)",
			  text_bytes(bytes_in(probe, step, 1000), rate, sizeof(rate)),
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
static void check_transfer_time(const struct store_probe *probe, uint64_t size,
				struct check_list *list)
{
	bool measured = probe->steps[PROBE_UPLOAD].worked && probe->bytes > 0;
	int64_t need_ms = check_store_transfer_ms(probe, size);
	bool fits = need_ms <= NOTICE_SHORT_MS;
	char some[32], most[32];

	if (size == 0 && measured)
		check_add(list, "fit", CHECK_OK, "",
			  "%s fit in %d s, %s in %d s (--size says whether your checkpoint does)",
			  format_size(bytes_in(probe, PROBE_UPLOAD, NOTICE_SHORT_MS), some,
				      sizeof(some)),
			  NOTICE_SHORT_MS / 1000,
			  format_size(bytes_in(probe, PROBE_UPLOAD, NOTICE_LONG_MS), most,
				      sizeof(most)),
			  NOTICE_LONG_MS / 1000);
	else if (size > 0 && !probe->steps[PROBE_UPLOAD].tried && probe->steps[PROBE_PUT].worked)
		check_add(list, "fit", CHECK_WARN, "leave --measure 0 out",
			  "whether %s fit in a notice is not known: nothing was measured",
			  format_size(size, some, sizeof(some)));
	if (need_ms >= 0)
		check_add(list, "fit", fits ? CHECK_OK : CHECK_WARN,
			  fits ? ""
			       : "let the job save more often (--every): complete checkpoints are "
				 "uploaded while it trains, and unchanged parts are not sent again",
			  "%s fit in %d s: %s, in %d s: %s (they need about %s)",
			  format_size(size, some, sizeof(some)), NOTICE_LONG_MS / 1000,
			  need_ms <= NOTICE_LONG_MS ? "yes" : "no", NOTICE_SHORT_MS / 1000,
			  fits ? "yes" : "no", text_duration(need_ms, most, sizeof(most)));
}

void check_store(const struct store_probe *probe, const char *url, uint64_t size,
		 struct check_list *list)
{
	*list = (struct check_list){0};
	check_open(probe, url, list);
	if (probe->in_the_clear)
		check_add(list, "transport", CHECK_WARN,
			  "let the endpoint be https; `run --strict` refuses this one",
			  "requests go to another machine over plain http: whoever is on the way "
			  "can use the credentials and replace checkpoints");
	check_step(probe, url, PROBE_PUT, "put", "an object can be written", list);
	check_step(probe, url, PROBE_GET, "get", "it reads back as it was written", list);
	check_if_absent(probe, url, list);
	check_step(probe, url, PROBE_LIST, "list",
		   probe->steps[PROBE_PUT].worked ? "it is listed at once"
						  : "what is there can be listed",
		   list);
	check_step(probe, url, PROBE_REMOVE, "delete", "it can be removed", list);
	if (probe->steps[PROBE_LIST].worked && probe->steps[PROBE_PUT].worked && !probe->dated)
		check_add(list, "age", CHECK_WARN, "",
			  "listings do not say when an object was put: `reprieve forget` frees no "
			  "space here");
	check_clock(probe, list);
	check_speed(probe, PROBE_UPLOAD, url, "up", list);
	check_speed(probe, PROBE_DOWNLOAD, url, "down", list);
	check_transfer_time(probe, size, list);
}

void check_mounts(const char *network, const struct probe_result *answer, struct check_list *list)
{
	if (!answer->tried)
		check_add(list, "mounts", CHECK_WARN,
			  "mount it a second time, and name the store there with --also",
			  "of one name to two was tried within one mount (%s), which proves "
			  "nothing of two machines",
			  network);
	else if (!answer->worked)
		check_add(list, "mounts", CHECK_FAIL,
			  answer->err.kind == ERR_UNFIT ? FIX_IF_ABSENT : "", "%s",
			  answer->err.text);
	else
		check_add(list, "mounts", CHECK_OK, "",
			  "of two mounts one gets a name, and the other sees it at once");
}

void check_no_store(struct check_list *list)
{
	*list = (struct check_list){0};
	check_add(list, "store", CHECK_FAIL, "choose a place with --store",
		  "no store: neither HOME nor XDG_STATE_HOME is set, so nothing would be saved");
}

void check_add(struct check_list *list, const char *check, enum check_level level, const char *fix,
	       const char *format, ...)
{
	struct check_result *row = &list->rows[list->count];
	va_list args;

	if (list->count == CHECK_LIST_MOST)
		return;
	list->count++;
	row->check = check;
	row->level = level;
	va_start(args, format);
	vsnprintf(row->text, sizeof(row->text), format, args);
	va_end(args);
	text_set(row->fix, sizeof(row->fix), fix);
}

enum check_level check_worst(const struct check_list *list)
{
	enum check_level worst = CHECK_OK;

	for (size_t i = 0; i < list->count; i++)
		if (list->rows[i].level > worst)
			worst = list->rows[i].level;
	return worst;
}

const char *check_level_name(enum check_level level)
{
	static const char *const names[] =
		{[CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail"};

	return names[level];
}
