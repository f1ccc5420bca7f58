/* reprieve drill: preempts a job on this machine, and says what that cost. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli.h"
#include "drill/drill.h"
#include "options/options.h"
#include "page.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "verbs.h"
#include "workspace/workspace.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All of them run on this machine. */
#define GANG_MOST 64
/* A trace is compressed, and a save is not. */
#define TRACE_NOTICE_MS 5000

struct drill_options {
	struct scenario_options scenario;
	const char *step_pattern; /* NULL: the usual ones */
	bool keep;
	bool json;
	const char *junit, *html; /* files; NULL: none */
	const char *trace;        /* file; NULL: none */
};

static void drill_options_release(struct drill_options *options)
{
	for (char **excluded = options->scenario.excluded; *excluded; excluded++)
		free(*excluded);
	step_patterns_release(&options->scenario.patterns);
	free(options->scenario.checkpoint_dir);
	free(options->scenario.compare);
}

AUTO(struct drill_options, drill_options_release);

/* As from path_below(). The shell's directory may be reached by links, and getcwd() knows of none.
 */
static char *relative_to_here(const char *path)
{
	auto_free char *here = getcwd(NULL, 0);
	auto_free char *resolved = *path == '/' ? file_absolute(path) : NULL;
	char *relative = path_below(path, here ? here : "/");

	return relative || !resolved ? relative : path_below(resolved, here ? here : "/");
}

static int set_compare(void *all, const char *path, struct err *err)
{
	struct drill_options *options = all;

	free(options->scenario.compare);
	options->scenario.compare = relative_to_here(path);
	if (!options->scenario.compare)
		return err_set(err, ERR_INVALID,
			       "'%s' is not below the current directory: each machine writes its "
			       "own",
			       path);
	return 0;
}

static int add_excluded(void *all, const char *path, struct err *err)
{
	char **excluded = ((struct drill_options *)all)->scenario.excluded, *below;
	size_t count = 0;

	while (excluded[count])
		count++;
	below = count < EXCLUDED_MOST - 1 ? relative_to_here(path) : NULL;

	if (!below)
		return err_set(err, ERR_INVALID,
			       "'%s' is not below the current directory, or more than %d are given",
			       path, EXCLUDED_MOST - 1);
	excluded[count] = below;
	return 0;
}

// clang-format off
static const struct option_row preemption_rows[] = {
	{"gang", 0, "N", NULL,
		"the job runs on N machines, as under `run --gang N`: all start, one is taken away, "
		"and all must go on from one snapshot",
		OPTION_NUMBER(struct drill_options, scenario.gang), .least = 2, .most = GANG_MOST},
	{"cloud", 0, "CLOUD", NULL,
		"whose metadata server to pretend: aws (default), gcp, azure, alibaba or tencent",
		OPTION_CHOICE(struct drill_options, scenario.cloud),
		.choices = "aws gcp azure alibaba tencent"},
	{"rounds", 0, "N", NULL,
		"how many machines are taken away (default: 1); a last one is left alone to the "
		"end",
		OPTION_NUMBER(struct drill_options, scenario.rounds), .least = 1, .most = 1000},
	{"notice-after", 0, "DURATION", NULL,
		"from the job's start to the notice (default: 5s, and until the job has counted or "
		"saved twice, at most 60s)",
		OPTION_DURATION(struct drill_options, scenario.notice_after_ms)},
	{"notice", 0, "DURATION", NULL,
		"from the notice to the machine's end (default: 120s on aws and tencent, 30s on "
		"gcp and azure, 5m on alibaba; the longest of a trace, 5s)",
		OPTION_DURATION(struct drill_options, scenario.notice_ms), .least = 1},
	{"trace", 0, "FILE", NULL,
		"instead: play these preemptions, each a line of SECONDS [NOTICE], and say what of the "
		"time paid for counts, beside 40 lines of bash",
		OPTION_TEXT(struct drill_options, trace), .least = 1},
	{"timeout", 0, "DURATION", NULL,
		"end the whole drill after so long; what has not taken place by then proves nothing",
		OPTION_DURATION(struct drill_options, scenario.timeout_ms), .least = 1},
	{0},
};

static const struct option_row verdict_rows[] = {
	{"max-lost", 0, "N", NULL,
		"FAIL if a preemption costs more than N steps (default: what the job has done since "
		"its own last save may be lost)",
		OPTION_NUMBER(struct drill_options, scenario.lost_most), .most = 1000000000},
	{"compare", 0, "PATH", NULL,
		"first run undisturbed; the file that the job writes must be equal, byte for byte",
		.set = set_compare},
	{"step-pattern", 0, "REGEX", NULL,
		"what the job prints for each step: an extended regular expression whose last group is "
		"the number (default: step 120, or epoch 3)",
		OPTION_TEXT(struct drill_options, step_pattern)},
	{"exclude", 0, "PATH", NULL,
		"the machines do not have it; may be given several times", .set = add_excluded},
	{"directory", 0, "DIR", NULL,
		"where the machines and their logs lie; stays (default: a temporary one)",
		OPTION_TEXT(struct drill_options, scenario.directory)},
	{"junit", 0, "FILE", NULL, "also write the verdict there, as JUnit's XML",
		OPTION_TEXT(struct drill_options, junit)},
	{"html", 0, "FILE", NULL,
		"also write a page for a browser: each notice to its deadline, to scale",
		OPTION_TEXT(struct drill_options, html), .least = 1},
	{"keep", 0, NULL, NULL,
		"keep the temporary one; it also stays, and the report says so, when the drill has not "
		"passed",
		OPTION_FLAG(struct drill_options, keep)},
	{0},
};

static const struct option_row other_rows[] = {
	{"verbose", 'v', NULL, NULL, "show what the machines print, on stderr",
		OPTION_FLAG(struct drill_options, scenario.verbose)},
	{0},
};

static const struct help_row exits[] = {
	{"0", "PASS: the newest checkpoint was durable before each deadline, and each machine was "
		"seen to go on from it; how many steps since then were lost is said"},
	{"1", "FAIL: what was not saved, not loaded, or more than --max-lost allows is said"},
	{"2", "UNPROVEN: nothing shows that it went on; what would show it is said"},
	{"126, 127", "NOT RUN: there is no such command, or it is no program (as in a shell)"},
	{"70", "a failure of ours"},
	{"130, 143", "stopped by a signal"},
	{0},
};

const struct verb verb_drill = {
	.name = "drill",
	.summary = "preempt a job on this machine, and see what it costs",
	.examples = "reprieve drill -- python train.py\n"
		"reprieve drill -- run --checkpoint-signal USR1 -- python train.py\n"
		"reprieve drill --cloud gcp --rounds 3 -- run -c out/ckpt -- bash train.sh\n"
		"reprieve drill --compare final.npy -- run -c out -- python train.py\n"
		"reprieve drill --trace preemptions.txt -- python train.py",
	.arguments = "-- COMMAND [ARG...]\n-- run [run options] -- COMMAND [ARG...]",
	.takes_command = true,
	.command_verb = &verb_run,
	.groups = (const struct option_group[]){
		OPTION_GROUP("Preemption", preemption_rows, 0),
		OPTION_GROUP("Verdict", verdict_rows, 0),
		OPTION_GROUP("Other", other_rows, 0),
		OPTION_GROUP(NULL, json_rows, offsetof(struct drill_options, json)),
		{0},
	},
	.notes = "PASS needs proof: the event log and the store have the checkpoint before the deadline, the "
		"next machine restored it, and the steps that the job prints (step 120) go on from it. Each "
		"machine has its own copy of the current directory. More: `man reprieve-drill`",
	.exits = exits,
};
// clang-format on

/* A command without the options of `run`. */
static bool is_bare(char *const *command)
{
	bool bare = *command && **command != '-' && !text_equal(*command, "run");

	for (; *command; command++)
		bare &= !text_equal(*command, "--");
	return bare;
}

/* `argv[0]` is not looked at. */
static enum option_result read_run(struct drill_options *options, char **argv, struct err *err)
{
	struct scenario_options *scenario = &options->scenario;
	enum option_result result;
	auto_(job_config_release) struct job_config run = {0};
	auto_free char *here = getcwd(NULL, 0);
	const char *advice;
	struct err why;
	int argc = 0;

	while (argv[argc])
		argc++;
	result = run_options_parse(argc, argv, &run, err);
	if (result == OPTION_FAILED)
		return err_wrap(err, "run");
	if (result == OPTION_HELPED)
		return result;
	if (run.dry_run)
		return err_set(err, ERR_INVALID,
			       "run: --dry-run starts nothing: there is nothing to drill");
	if (run.store && storage_check_url(run.store, err) < 0)
		return err_wrap(err, "run");
	scenario->checkpoint_dir = relative_to_here(run.checkpoint_dir);
	if (!scenario->checkpoint_dir)
		return err_set(err, ERR_INVALID,
			       "run: --checkpoint-dir %s: for a drill, name one below the current "
			       "directory: each machine has its own",
			       run.checkpoint_dir);
	/* A store of its own lies elsewhere. */
	if (directory_check_run(
		    &(struct directory_check){
			    .store = run.store ? run.store : "",
			    .directory = scenario->checkpoint_dir,
			    .command = run.command,
		    },
		    &advice, &why) < 0)
		return err_set(err, why.kind, "%s: %s", why.text, advice);
	if (drilled_command_check(run.command, run.checkpoint_dir, scenario->checkpoint_dir, here,
				  err) < 0)
		return -1;
	signal_name_format(run.checkpoint_signal > 0 ? run.checkpoint_signal : SIGTERM,
			   scenario->save_signal);
	scenario->script = embedded_script_begin;
	scenario->store = run.store;
	scenario->command = run.command;
	scenario->run_options = argv + 1;
	scenario->run_option_count = (size_t)(run.command - argv) - 1;
	if (scenario->run_option_count > 0 && text_equal(run.command[-1], "--"))
		scenario->run_option_count--;
	scenario->notice_chosen = !text_equal(run.notice, "auto");
	return 0;
}

static enum option_result read_command_line(int argc, char **argv, struct drill_options *options,
					    struct err *err)
{
	char **run;
	enum option_result result =
		option_table_read_arguments(&verb_drill, argc, argv, options, &run, err);

	if (result != OPTION_PARSED)
		return result;
	options->scenario.of_trace = options->trace != NULL;
	if (options->trace && (options->html || options->junit || options->scenario.compare ||
			       options->scenario.gang > 0))
		return err_set(err, ERR_INVALID,
			       "--trace is of one machine, and gives no verdict: leave --gang, "
			       "--compare, --junit and --html out");
	if (options->scenario.notice_ms == 0 && options->trace)
		options->scenario.notice_ms = TRACE_NOTICE_MS;
	if (options->scenario.notice_ms == 0)
		options->scenario.notice_ms = mock_clouds[options->scenario.cloud].notice_ms;
	if (is_bare(run))
		return read_run(options, run - 1, err);
	if (!run[0] || !text_equal(run[0], "run"))
		return err_set(err, ERR_INVALID,
			       "behind `--` comes the command, or `run` with options of its own: "
			       "reprieve drill -- run -c out -- python train.py");
	return drilled_options_check(run, err) < 0 ? -1 : read_run(options, run, err);
}

static void print_plan(const struct scenario_options *options, bool passes_over_store)
{
	if (options->silent)
		return;
	printf("Drill: %u preemption%s as on %s, announced %g s ahead%s.\n\n", options->rounds,
	       options->rounds == 1 ? "" : "s", mock_clouds[options->cloud].name,
	       (double)options->notice_ms / 1000,
	       options->gang > 0 ? ", at one machine of several" : "");
	if (passes_over_store && !options->store)
		printf("Snapshots go to a store of the drill's own, and not to REPRIEVE_STORE "
		       "(drill "
		       "-- run --store URL would use one).\n\n");
	fflush(stdout);
}

/* `signal`: stopped the drill; 0: none. */
static int report_failure(const struct err *err, int signal)
{
	if (err->kind == ERR_CANCELLED && signal) {
		log_warn("the drill was stopped, and its machines with it");
		return 128 + signal;
	}
	log_error("drill: %s", err->text);
	return err->kind == ERR_INVALID || err->kind == ERR_EXISTS ? EXIT_USAGE : EXIT_OWN_FAILURE;
}

/* Written before the drill, too, so that a path that is wrong is heard of at once, and whatever
 * ends the drill leaves a file that does not pass. Takes over `text`. */
static int write_junit(const char *path, char *text, struct err *err)
{
	auto_free char *owned = text;
	struct err cause = {0};

	if (!path || file_write(path, owned, strlen(owned), &cause) == 0)
		return 0;
	return err_set(err, ERR_INVALID, "--junit %s cannot be written: %s", path, cause.text);
}

/* The window from the notice to the deadline, and what it was used for. */
static void add_bar(struct page_section *section, const struct round_verdict *verdict,
		    const char *number, int64_t window_ms)
{
	struct page_bar *bar = page_add_bar(section);
	char durable[32], margin[32];

	snprintf(bar->label, sizeof(bar->label), "%s: %s, durable after %s, %s before the end",
		 number, drill_result_name(verdict->result),
		 drill_seconds_format(verdict->durable_ms, durable),
		 drill_seconds_format(verdict->margin_ms, margin));
	page_add_phase(bar, PHASE_NOTICE, 0, window_ms);
	if (verdict->saved_ms != VERDICT_UNKNOWN)
		page_add_phase(bar, PHASE_SAVING,
			       verdict->asked_ms == VERDICT_UNKNOWN ? 0 : verdict->asked_ms,
			       verdict->saved_ms);
	if (verdict->saved_ms != VERDICT_UNKNOWN && verdict->durable_ms != VERDICT_UNKNOWN)
		page_add_phase(bar, PHASE_UPLOADING, verdict->saved_ms, verdict->durable_ms);
}

/* PURE. For each machine that was taken away, the time from the notice to the deadline, to scale.
 */
static void fill_page(struct page_section *section, const struct scenario *scenario)
{
	const struct drill_facts *facts = &scenario->facts;
	enum drill_result result;
	char reason[960], number[32], text[32];

	result = report_result(scenario, reason, sizeof(reason));
	snprintf(section->title, sizeof(section->title), "%s", drill_result_name(result));
	snprintf(section->note, sizeof(section->note), "%.600s", reason);
	snprintf(text, sizeof(text), "%u of %u", facts->rounds_passed, facts->rounds_wanted);
	page_add_figure(section, "survived", "survived", text);
	page_add_figure(section, "notice", "notice",
			drill_seconds_format(scenario->options->notice_ms, text));
	for (unsigned i = 0; i < facts->rounds_done; i++)
		for (uint32_t m = 0; m < scenario->rounds[i].members; m++) {
			const struct round *round = &scenario->rounds[i];

			snprintf(number, sizeof(number), round->members > 1 ? "%u/%" PRIu32 : "%u",
				 i + 1, m);
			add_bar(section, &round->verdicts[m], number, scenario->options->notice_ms);
		}
}

static int write_html(const char *path, const struct scenario *scenario, struct err *err)
{
	auto_(page_section_release) struct page_section section = {.bar_count = 0};
	auto_free char *text = NULL, *subtitle = NULL;

	if (!path)
		return 0;
	fill_page(&section, scenario);
	subtitle = text_format("preemptions as on %s, in a rehearsal on this machine",
			       mock_clouds[scenario->options->cloud].name);
	text = page_html("reprieve drill", subtitle, &section, 1);
	return file_write(path, text, strlen(text), err) < 0 ? err_wrap(err, "--html") : 0;
}

/* 0: the job has finished under reprieve; 1: it has not; 2: the trace was cut. */
static int run_trace(const struct drill_options *options)
{
	auto_(bytes_release) struct bytes text = {0};
	auto_free struct trace *trace = memory_new(sizeof(*trace));
	auto_(sandbox_release) struct sandbox sandbox = {0};
	struct trace_result result = {.sandbox = &sandbox};
	struct err err = {0};
	bool read = file_read(options->trace, &text, &err) == 0 &&
		    bytes_append(&text, "", 1, &err) == 0 &&
		    trace_parse((char *)text.data, trace, &err) == 0;
	bool played;

	if (!read) {
		err_wrap(&err, "--trace %s", options->trace);
		err.kind = ERR_INVALID;
		return report_failure(&err, 0);
	}
	played = trace_play(&options->scenario, trace, &result, &err) == 0;
	if (sandbox.scratch && !options->scenario.directory && !options->keep)
		file_remove_tree(sandbox.scratch, NULL);
	if (!played && sandbox.signal != SIGALRM)
		return report_failure(&err, sandbox.signal);
	if (options->json)
		trace_json(trace, &result);
	else
		trace_print(trace, &result);
	if (!played)
		log_warn("--timeout has ended the drill: what had not finished by then counts "
			 "nothing");
	return !played ? 2 : result.lanes[LANE_REPRIEVE].finished ? 0 : 1;
}

static int run_scenario(const struct drill_options *options)
{
	auto_(scenario_release) struct scenario scenario;
	struct err err = {0}, unwritten = {0};
	char reason[960];
	bool played = scenario_play(&options->scenario, &scenario, &err) == 0;
	enum drill_result result =
		played ? report_result(&scenario, reason, sizeof(reason)) : DRILL_UNPROVEN;
	const int codes[] = {0, 1, 2, scenario.facts.command_exit};
	int exit_code = played ? codes[result] : report_failure(&err, scenario.sandbox.signal);
	/* The machines stay for a look, unless the drill passed or the command cannot be run. */
	bool kept = options->scenario.directory || options->keep ||
		    (played && result != DRILL_PASS && result != DRILL_NOT_RUN);

	if (played && options->json)
		report_json(&scenario, kept);
	else if (played)
		report_print(&scenario, kept);
	if (!kept && scenario.sandbox.scratch)
		file_remove_tree(scenario.sandbox.scratch, NULL);
	if (write_junit(options->junit, report_junit(played ? &scenario : NULL, err.text),
			&unwritten) == 0 &&
	    (!played || write_html(options->html, &scenario, &unwritten) == 0))
		return exit_code;
	/* Who asked for the file and gets none has not passed. */
	log_error("drill: %s", unwritten.text);
	return exit_code == 0 ? EXIT_OWN_FAILURE : exit_code;
}

int cmd_drill(int argc, char **argv)
{
	struct signals_inherited inherited;
	auto_(drill_options_release) struct drill_options options = {
		.scenario =
			{
				.cloud = MOCK_AWS,
				.rounds = 1,
				.notice_after_ms = NOTICE_AFTER_UNSAID,
				.lost_most = UINT_MAX,
				.inherited = &inherited,
			},
	};
	enum option_result result;
	struct err err = {0};
	/* It is meant for real runs: what is only tried would stay in it for ever. Who wants to try
	 * the store itself names it. */
	bool passes_over_store = getenv("REPRIEVE_STORE") != NULL;

	unsetenv("REPRIEVE_STORE");
	unsetenv("REPRIEVE_NOTICE"); /* of the machine that this is, and not of those */
	/* Before the metadata server's threads: none of them may take a signal
	 * that is meant for us. */
	signals_block(&inherited);
	result = read_command_line(argc, argv, &options, &err);
	if (result == OPTION_HELPED)
		return 0;
	if (result != OPTION_PARSED ||
	    step_patterns_make(&options.scenario.patterns, options.step_pattern, &err) < 0 ||
	    write_junit(options.junit,
			report_junit(NULL, "the drill was cut off before its verdict"), &err) < 0 ||
	    child_prepare(&err) < 0)
		return report_failure(&err, 0);
	options.scenario.silent = options.json;
	options.scenario.began_ms = clock_monotonic_ms();
	if (options.trace)
		return run_trace(&options);
	print_plan(&options.scenario, passes_over_store);
	return run_scenario(&options);
}
