#include "process.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "process_tree.h"

#include <string.h>
#include <sys/wait.h>

#define READS_MOST 60
#define READ_AGAIN_MS 5

/* --- which processes go on --- */

/* Programs that jobs leave behind, and that end by themselves or never. */
static bool is_helper_name(const char *name)
{
	static const char *const names[] = {
		"ssh-agent",   "gpg-agent", "dbus-daemon", "dbus-launch", "tensorboard", "wandb",
		"wandb-core",  "gpu_stats", "mlflow",      "aim",         "nvidia-smi",  "rocm-smi",
		"dcgmi",       "sleep",     "tail",        "cat",         "tee",         "watch",
		"vmstat",      "iostat",    "dstat",       "sar",         "ccache",      "sccache",
		"jupyter-lab", "ssh",       "sshd",        "rsync",       "logger",      NULL,
	};

	return text_is_one_of(name, names);
}

static bool is_helper(const struct process *process)
{
	const char *script = process_role_script(process);

	if (script)
		return is_helper_name(text_last_part(script));
	return is_helper_name(process->comm) || is_helper_name(process->executable);
}

static bool has_child(const struct process_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->processes[i].parent == pid && !process_is_dead(&tree->processes[i]))
			return true;
	return false;
}

static bool may_be_job(const struct detachment *detachment, const struct process_tree *tree,
		       const struct process *process)
{
	if (process_is_dead(process) || process_role_is_spawned(process))
		return false;
	if (process_role(process) == ROLE_WRAPPER)
		return detachment->shells_count && !has_child(tree, process->pid);
	return !is_helper(process);
}

static bool is_writer(const struct detachment *detachment, pid_t pid)
{
	for (size_t i = 0; i < detachment->writer_count; i++)
		if (detachment->writers[i] == pid)
			return true;
	return false;
}

/* The process above `process` that is a child of `self`, or itself. If its parent has just ended,
 * it is about to be a child of `self`. */
static const struct process *find_root(const struct process_tree *tree,
				       const struct process *process, pid_t self)
{
	const struct process *parent;

	while (process->parent != self && (parent = process_find(tree, process->parent)) &&
	       !process_is_dead(parent))
		process = parent;
	return process;
}

static bool is_left_behind(const struct detachment *detachment, const struct process *root)
{
	bool handed_on = detachment->expected && !detachment->wrote && detachment->succeeded &&
			 detachment->ran_ms < DETACHED_SOON_MS;

	return handed_on || root->start_time <= detachment->left_until;
}

const struct process *detached_process_choose(const struct detachment *detachment,
					      const struct process_tree *tree, pid_t self)
{
	const struct process *found = NULL;

	for (size_t i = 0; i < tree->count; i++) {
		const struct process *process = &tree->processes[i];
		const struct process *root = find_root(tree, process, self);

		if (process_is_dead(root) || !may_be_job(detachment, tree, process))
			continue;
		if (is_writer(detachment, process->pid))
			return root;
		if (!found && is_left_behind(detachment, root))
			found = root;
	}
	return found;
}

/* No process has come or gone between two reads. */
static bool is_same_tree(const struct process_tree *a, const struct process_tree *b)
{
	return a->count == b->count && process_tree_latest_start(a) == process_tree_latest_start(b);
}

/*
 * The same, of our own descendants, which it reads into `tree` (zeroed at first; the caller
 * releases it). A process that forks or ends while /proc is read can hide another one, and a shell
 * that has just forked becomes its command within milliseconds: so nobody is there only if two
 * readings, 5 ms apart, have found the same. It blocks for at most some 0.3 s.
 */
static const struct process *detached_process_find(struct detachment *detachment,
						   struct process_tree *tree)
{
	const struct process *next = NULL, *shell = NULL;

	for (int reads = 1; !next; reads++) {
		auto_(process_tree_release) struct process_tree before = *tree;

		*tree = (struct process_tree){0};
		if (process_tree_read(getpid(), PROCESS_TREE_FULL, tree, NULL) < 0 ||
		    tree->count == 0)
			return NULL;
		detachment->shells_count = false;
		next = detached_process_choose(detachment, tree, getpid());
		detachment->shells_count = true;
		shell = detached_process_choose(detachment, tree, getpid());
		if (next || reads >= READS_MOST)
			return next ? next : shell;
		if (!shell && reads > 1 && is_same_tree(&before, tree))
			return NULL;
		usleep(READ_AGAIN_MS * 1000);
	}
	return next;
}

/* A command of which nothing is known detaches as under any init; if it is a Python script, that is
 * worth a word. */
static void say_left_alone(const struct detachment *detachment, const struct process_tree *tree)
{
	struct detachment if_expected = *detachment;
	const struct process *left;
	char text[DETACHED_TEXT_SIZE];

	if_expected.expected = true;
	left = detached_process_choose(&if_expected, tree, getpid());
	if (!left || detachment->expected ||
	    !strstr(process_describe(left, text, sizeof(text)), "python"))
		return;
	log_note("the command has exited and left process %d (%s) running; it is not supervised: "
		 "drop the \"&\", or use --job NAME",
		 (int)left->pid, text);
}

bool detached_process_follow(struct detached_job *detached, struct detachment *detachment,
			     int64_t launched_ms, struct child *child,
			     char text[DETACHED_TEXT_SIZE])
{
	auto_(process_tree_release) struct process_tree tree = {0};
	int64_t since_ms = detached->since_ms ? detached->since_ms : launched_ms;
	const struct process *next;

	if (detached->status == 0)
		detached->status = child->status;
	detachment->succeeded = child->status == 0;
	detachment->ran_ms = clock_monotonic_ms() - since_ms;
	detachment->left_until = detached->left_until;
	child->status = detached->status;
	/* A failure of the main process itself is the end of the job. */
	if (detachment->told_to_end || (!detachment->succeeded && detached->left_until == 0))
		return false;
	next = detached_process_find(detachment, &tree);
	if (!next) {
		say_left_alone(detachment, &tree);
		return false;
	}
	if (detached->left_until == 0)
		detached->left_until = process_tree_latest_start(&tree);
	log_note("the command has exited and left process %d (%s) running: it is waited for as the "
		 "job",
		 (int)next->pid, process_describe(next, text, DETACHED_TEXT_SIZE));
	detached->since_ms = clock_monotonic_ms();
	child_adopt(child, next->pid);
	return true;
}

/* --- what outlives the main process --- */

bool outlived_is_waited_for(const struct outlived_facts *facts)
{
	int64_t quiet_ms = facts->now_ms - facts->since_ms;

	if (facts->cut)
		return false;
	return facts->writing ? quiet_ms < OUTLIVED_STALL_MS
			      : facts->may_begin && quiet_ms < OUTLIVED_QUIET_MS;
}

bool detached_process_may_write(void)
{
	auto_(process_tree_release) struct process_tree tree = {0};

	if (process_tree_read(getpid(), PROCESS_TREE_FULL, &tree, NULL) < 0)
		return false;
	for (size_t i = 0; i < tree.count; i++)
		if (!process_is_dead(&tree.processes[i]) && !is_helper(&tree.processes[i]))
			return true;
	return false;
}

/* --- commands --- */

/* What may stand before a command, as in "FOO=1 nice -n 10 env tmux", and within one. */
#define BEFORE                                                                               \
	"(^|[;&|(\n])[ \t]*((([^ ]*/)?(env|nice|nohup|setsid|exec|sudo|time|then|do|stdbuf|" \
	"command)|-[^ \t]*|[^ \t;&|]*=[^ \t]*|[0-9][^ \t]*)[ \t]+)*([^ \t;&|]*/)?"
#define WITHIN "[^;&|\n]*[ \t]"
#define LETTERS "-[A-Za-z]*"

const char *detached_process_refuse_command(char *const *command)
{
	auto_(bytes_release) struct bytes text = {0};

	/* What a shell is given is a command of its own. */
	for (char *const *word = command; *word; word++)
		bytes_format(&text, NULL, "%s%s",
			     word == command              ? ""
			     : text_equal(word[-1], "-c") ? ";"
							  : " ",
			     *word);
	bytes_append(&text, "", 1, NULL);
	if (text_matches((const char *)text.data,
			 BEFORE "tmux[ \t](" WITHIN ")?new" WITHIN LETTERS "d"))
		return "tmux runs the command in a server of its own, where it can be neither "
		       "saved nor waited for: run reprieve inside tmux (tmux new-session -d "
		       "'reprieve run -- ...')";
	/* "-dmS" has both letters. */
	if (text_matches((const char *)text.data, BEFORE "screen[ \t](" WITHIN ")?" LETTERS
							 "(d(" WITHIN "-)?[A-Za-z]*m|m[A-Za-z]*d)"))
		return "screen runs the command in a session of its own, where it can be neither "
		       "saved nor waited for: run reprieve inside screen (screen -dm reprieve run "
		       "-- ...)";
	return NULL;
}
