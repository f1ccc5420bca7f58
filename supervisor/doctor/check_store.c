#include "doctor.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* S3 rejects requests that were signed more than 15 minutes off (RequestTimeTooSkewed); Azure and
 * Google's tokens do the same. */
#define SKEW_FAIL_MS (15 * 60000LL)
#define SKEW_WARN_MS 60000LL
/* The clouds' notices: AWS 120 s; Google and Azure 30 s. */
#define NOTICE_LONG_MS 120000
#define NOTICE_SHORT_MS 30000

// clang-format off
#define FIX_IF_ABSENT "use a store that can put an object only if it is absent: otherwise two machines that run one job can overwrite each other"
#define FIX_SAVE_OFTEN "let the job save more often (--every): complete checkpoints are uploaded while it trains, and unchanged parts are not sent again"
#define FIX_CLOCK "set the clock (chrony, systemd-timesyncd)"
static const struct check_finding
	not_there = {"store", CHECK_WARN, "$1: the directory does not exist yet; a run creates it",
		"check that this is the right place, and that the share is mounted there"},
	store_is = {"store", CHECK_OK, "$1", ""},
	if_absent_off = {"if-absent", CHECK_WARN, "not used, because REPRIEVE_S3_CONDITIONAL=off is set: an object is looked up first, then put, and two "
		"writers of one name may both win", "never run one job on two machines at the same time, or use a store with if-absent"},
	same_clock = {"clock", CHECK_OK, "same as the server's", ""},
	skew_is_small = {"clock", CHECK_OK, "this machine's clock is $1 $2 the server's", ""},
	skew_warns = {"clock", CHECK_WARN, "this machine's clock is $1 $2 the server's", FIX_CLOCK},
	skew_fails = {"clock", CHECK_FAIL, "this machine's clock is $1 $2 the server's", FIX_CLOCK},
	what_fits = {"fit", CHECK_OK, "$1 fit in 30 s, $2 in 120 s (--size says whether your checkpoint does)", ""},
	not_measured = {"fit", CHECK_WARN, "whether $1 fit in a notice is not known: nothing was measured", "leave --measure 0 out"},
	fits = {"fit", CHECK_OK, "$1 fit in 120 s: yes, in 30 s: yes (they need about $2)", ""},
	fits_a_long_one = {"fit", CHECK_WARN, "$1 fit in 120 s: yes, in 30 s: no (they need about $2)", FIX_SAVE_OFTEN},
	fits_none = {"fit", CHECK_WARN, "$1 fit in 120 s: no, in 30 s: no (they need about $2)", FIX_SAVE_OFTEN},
	in_the_clear = {"transport", CHECK_WARN, "requests go to another machine over plain http: whoever is on the way can use the credentials and "
		"replace checkpoints", "let the endpoint be https; `run --strict` refuses this one"},
	no_age = {"age", CHECK_WARN, "listings do not say when an object was put: `reprieve forget` frees no space here", ""},
	one_mount = {"mounts", CHECK_WARN, "of one name to two was tried within one mount ($1), which proves nothing of two machines",
		"mount it a second time, and name the store there with --also"},
	two_mounts = {"mounts", CHECK_OK, "of two mounts one gets a name, and the other sees it at once", ""},
	no_store = {"store", CHECK_FAIL, "no store: neither HOME nor XDG_STATE_HOME is set, so nothing would be saved", "choose a place with --store"};
// clang-format on

/* --- what to do --- */

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
	auto_free char *text =
		text_format("%s%s%s", url, probe->description[0] ? ": " : "", probe->description);

	if (!answer->worked)
		check_add(list,
			  &(struct check_finding){"store", CHECK_FAIL, "$1",
						  fix_of_open(&answer->err, url)},
			  answer->err.text, NULL);
	else
		check_add(list, probe->made ? &not_there : &store_is, probe->made ? url : text,
			  NULL);
}

/* `works`: what is so if it does, before how long it took. */
static void check_step(const struct store_probe *probe, const char *url, enum probe_step step,
		       const char *check, const char *works, struct check_list *list)
{
	const struct probe_result *answer = &probe->steps[step];
	/* Only retention needs to remove objects; saving and restoring work. */
	bool spared = step == PROBE_REMOVE && answer->err.kind == ERR_DENIED;

	char took[24];

	snprintf(took, sizeof(took), "%lld", (long long)answer->took_ms);
	if (answer->worked)
		check_add(list, &(struct check_finding){check, CHECK_OK, "$1 ($2 ms)", ""}, works,
			  took);
	else if (answer->tried)
		check_add(list,
			  &(struct check_finding){check, spared ? CHECK_WARN : CHECK_FAIL, "$1",
						  fix_of_step(step, &answer->err, url)},
			  answer->err.text, NULL);
}

static void check_if_absent(const struct store_probe *probe, const char *url,
			    struct check_list *list)
{
	if (!probe->steps[PROBE_IF_ABSENT].worked || !probe->if_absent_guessed)
		check_step(probe, url, PROBE_IF_ABSENT, "if-absent",
			   "of two writers of one name, one wins", list);
	else
		check_add(list, &if_absent_off, NULL, NULL);
}

static void check_clock(const struct store_probe *probe, struct check_list *list)
{
	int64_t off = llabs((long long)probe->skew_ms);
	const struct check_finding *skew =
		off >= SKEW_FAIL_MS   ? &skew_fails
		: off >= SKEW_WARN_MS ? &skew_warns
				      : &skew_is_small;
	char text[32];

	if (!probe->skew_known)
		return;
	check_add(list, off < 2000 ? &same_clock : skew, text_duration(off, text, sizeof(text)),
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
	char rate[24], amount[24], how[80];

	if (!probe->steps[step].worked) {
		check_step(probe, url, step, check, "", list);
		return;
	}
	snprintf(how, sizeof(how), "%s on %u connection%s",
		 text_bytes(probe->bytes, amount, sizeof(amount)), probe->at_once,
		 probe->at_once == 1 ? "" : "s");
	check_add(list, &(struct check_finding){check, CHECK_OK, "$1/s ($2)", ""},
		  text_bytes(bytes_in(probe, step, 1000), rate, sizeof(rate)), how);
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
	char some[32], most[32];

	format_size(size, some, sizeof(some));
	if (size == 0 && measured)
		check_add(list, &what_fits,
			  format_size(bytes_in(probe, PROBE_UPLOAD, NOTICE_SHORT_MS), some,
				      sizeof(some)),
			  format_size(bytes_in(probe, PROBE_UPLOAD, NOTICE_LONG_MS), most,
				      sizeof(most)));
	else if (size > 0 && !probe->steps[PROBE_UPLOAD].tried && probe->steps[PROBE_PUT].worked)
		check_add(list, &not_measured, some, NULL);
	if (need_ms >= 0)
		check_add(list,
			  need_ms <= NOTICE_SHORT_MS  ? &fits
			  : need_ms <= NOTICE_LONG_MS ? &fits_a_long_one
						      : &fits_none,
			  some, text_duration(need_ms, most, sizeof(most)));
}

void check_store(const struct store_probe *probe, const char *url, uint64_t size,
		 struct check_list *list)
{
	*list = (struct check_list){0};
	check_open(probe, url, list);
	if (probe->in_the_clear)
		check_add(list, &in_the_clear, NULL, NULL);
	check_step(probe, url, PROBE_PUT, "put", "an object can be written", list);
	check_step(probe, url, PROBE_GET, "get", "it reads back as it was written", list);
	check_if_absent(probe, url, list);
	check_step(probe, url, PROBE_LIST, "list",
		   probe->steps[PROBE_PUT].worked ? "it is listed at once"
						  : "what is there can be listed",
		   list);
	check_step(probe, url, PROBE_REMOVE, "delete", "it can be removed", list);
	if (probe->steps[PROBE_LIST].worked && probe->steps[PROBE_PUT].worked && !probe->dated)
		check_add(list, &no_age, NULL, NULL);
	check_clock(probe, list);
	check_speed(probe, PROBE_UPLOAD, url, "up", list);
	check_speed(probe, PROBE_DOWNLOAD, url, "down", list);
	check_transfer_time(probe, size, list);
}

void check_mounts(const char *network, const struct probe_result *answer, struct check_list *list)
{
	const struct check_finding failed = {"mounts", CHECK_FAIL, "$1",
					     answer->err.kind == ERR_UNFIT ? FIX_IF_ABSENT : ""};

	check_add(list,
		  !answer->tried   ? &one_mount
		  : answer->worked ? &two_mounts
				   : &failed,
		  answer->tried ? answer->err.text : network, NULL);
}

void check_no_store(struct check_list *list)
{
	*list = (struct check_list){0};
	check_add(list, &no_store, NULL, NULL);
}

void check_add(struct check_list *list, const struct check_finding *finding, const char *first,
	       const char *second)
{
	struct check_result *row = &list->rows[list->count];
	size_t used = 0;

	if (list->count == CHECK_LIST_MOST)
		return;
	list->count++;
	if (finding->level > list->worst)
		list->worst = finding->level;
	*row = (struct check_result){.check = finding->check, .level = finding->level};
	for (const char *at = finding->text; *at && used < sizeof(row->text) - 1; at++) {
		const char *told = text_starts(at, "$1")   ? first
				   : text_starts(at, "$2") ? second
							   : NULL;

		snprintf(row->text + used, sizeof(row->text) - used, "%.*s",
			 told ? (int)strlen(told) : 1, told ? told : at);
		used += strlen(row->text + used);
		at += told != NULL;
	}
	text_set(row->fix, sizeof(row->fix), finding->fix);
}

const char *check_level_name(enum check_level level)
{
	static const char *const names[] =
		{[CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail"};

	return names[level];
}
