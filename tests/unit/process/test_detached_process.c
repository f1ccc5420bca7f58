/* Which of the processes that a command leaves behind are the job, and which commands are refused.
 */
#include "process/process.h"
#include "process/process_tree.h"

#include "base/log.h"

#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SELF 1
#define MOST 4

struct line {
	pid_t pid, parent;
	const char *command; /* words divided by | */
	char state;
	uint64_t start_time;
};

static void fill(struct process *process, const struct line *line)
{
	*process = (struct process){
		.pid = line->pid,
		.parent = line->parent,
		.state = line->state ? line->state : 'S',
		.start_time = line->start_time ? line->start_time : 100,
		.command_size = strlen(line->command) + 1,
	};
	strcpy(process->command, line->command);
	for (size_t i = 0; i < process->command_size; i++)
		if (process->command[i] == '|')
			process->command[i] = '\0';
	strncpy(process->executable, process->command, sizeof(process->executable) - 1);
	strncpy(process->comm, process->command, sizeof(process->comm) - 1);
}

static void test_choose(void **state)
{
	const struct detachment handed_on = {.expected = true, .succeeded = true, .ran_ms = 50};
	const struct detachment shells =
		{.expected = true, .succeeded = true, .ran_ms = 50, .shells_count = true};
	const struct detachment anything = {.succeeded = true, .ran_ms = 50};
	const struct detachment failed = {.expected = true, .ran_ms = 50};
	const struct detachment late = {.expected = true, .succeeded = true, .ran_ms = 60000};
	const struct detachment saved =
		{.expected = true, .succeeded = true, .wrote = true, .ran_ms = 50};
	const struct detachment going_on =
		{.expected = true, .wrote = true, .ran_ms = 60000, .left_until = 100};
	const struct {
		const char *name;
		struct line lines[MOST];
		struct detachment detachment;
		pid_t writer; /* 0: none */
		pid_t chosen; /* 0: none */
	} rows[] = {
		// clang-format off
		{"nothing is left", {{0}}, handed_on, 0, 0},
		{"nohup python train.py &", {{5, SELF, "python|train.py", 0, 0}}, handed_on, 0, 5},
		{"a subshell around it", {{5, SELF, "bash|-c|x", 0, 0},
			{6, 5, "python|train.py", 0, 0}}, handed_on, 0, 5},
		{"torchrun", {{5, SELF, "torchrun|train.py", 0, 0}}, handed_on, 0, 5},
		{"a program of its own", {{5, SELF, "./train", 0, 0}}, handed_on, 0, 5},
		{"under any command: as under an init", {{5, SELF, "python|train.py", 0, 0}},
			anything, 0, 0},
		{"but what writes checkpoints is the job", {{5, SELF, "python|train.py", 0, 0}},
			anything, 5, 5},
		{"or what is above the writer", {{5, SELF, "bash|run.sh", 0, 0},
			{6, 5, "python|train.py", 0, 0}}, anything, 6, 5},
		{"the writer comes first", {{5, SELF, "python|a.py", 0, 0},
			{6, SELF, "python|b.py", 0, 0}}, handed_on, 6, 6},
		{"the command has failed", {{5, SELF, "python|train.py", 0, 0}}, failed, 0, 0},
		{"the command did the work itself", {{5, SELF, "python|serve.py", 0, 0}}, late, 0, 0},
		{"the command has saved itself", {{5, SELF, "python|serve.py", 0, 0}}, saved, 0, 0},
		{"a zombie", {{5, SELF, "python|train.py", 'Z', 0}}, handed_on, 0, 0},
		{"helpers", {{5, SELF, "ssh-agent|-s", 0, 0}, {6, SELF, "tensorboard|--logdir", 0, 0},
			{7, SELF, "python|/usr/bin/tensorboard", 0, 0}, {8, SELF, "sleep|9", 0, 0}},
			handed_on, 0, 0},
		{"a loop that monitors", {{5, SELF, "bash|-c|x", 0, 0}, {6, 5, "sleep|30", 0, 0}},
			handed_on, 0, 0},
		{"a shell before its exec", {{5, SELF, "bash|-c|nohup x &", 0, 0}}, shells, 0, 5},
		{"it is not known yet", {{5, SELF, "bash|-c|nohup x &", 0, 0}}, handed_on, 0, 0},
		{"a process of multiprocessing", {{5, SELF,
			"python|-c|from multiprocessing.resource_tracker import main;main(5)", 0, 0}},
			handed_on, 0, 0},
		{"about to be our child", {{5, 3, "python|train.py", 0, 0}}, handed_on, 0, 5},
		{"the same", {{3, SELF, "sh|-c|x", 'Z', 0}, {5, 3, "python|train.py", 0, 0}},
			handed_on, 0, 5},
		{"one of two has ended", {{6, SELF, "python|b.py", 0, 90}}, going_on, 0, 6},
		{"what the job left behind later", {{6, SELF, "python|b.py", 0, 200}}, going_on, 0, 0},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct process processes[MOST];
		struct process_tree tree = {.processes = processes};
		struct detachment detachment = rows[i].detachment;
		const struct process *chosen;

		for (; tree.count < MOST && rows[i].lines[tree.count].pid; tree.count++)
			fill(&processes[tree.count], &rows[i].lines[tree.count]);
		detachment.writers = &rows[i].writer;
		detachment.writer_count = rows[i].writer != 0;
		chosen = detached_process_choose(&detachment, &tree, SELF);
		if ((chosen ? chosen->pid : 0) != rows[i].chosen)
			fail_msg("row %zu: %s", i, rows[i].name);
	}
}

static void test_refuse(void **state)
{
	static const struct {
		char *command[8];
		const char *why; /* a part of it; NULL: not refused */
	} rows[] = {
		{{"tmux", "new-session", "-d", "python train.py"}, "inside tmux"},
		{{"tmux", "new", "-ds", "a", "python train.py"}, "inside tmux"},
		{{"/usr/bin/tmux", "-L", "x", "new-session", "-s", "a", "-d"}, "inside tmux"},
		{{"screen", "-dmS", "a", "python", "train.py"}, "inside screen"},
		{{"screen", "-d", "-m", "python", "train.py"}, "inside screen"},
		{{"bash", "-c", "cd a && tmux new-session -d 'python b.py'"}, "inside tmux"},
		{{"sh", "-c", "FOO=1 screen -dm python b.py; echo"}, "inside screen"},
		{{"env", "A=1", "nice", "tmux", "new", "-d"}, "inside tmux"},
		{{"tmux", "new-session", "python train.py"}, NULL},
		{{"tmux", "attach", "-d"}, NULL},
		{{"screen", "-r", "-d"}, NULL},
		{{"python", "play.py", "--renderer", "screen", "-d", "-m"}, NULL},
		{{"bash", "-c", "echo screen -dm"}, NULL},
		{{"bash", "-c", "nohup python train.py &"}, NULL},
		{{"docker", "run", "-d"}, NULL},
		{{""}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = detached_process_refuse_command(rows[i].command);

		if (!why != !rows[i].why || (why && !strstr(why, rows[i].why)))
			fail_msg("row %zu: %s", i, why ? why : "not refused");
	}
}

static void test_who_outlives_the_main_process(void **state)
{
	static const struct {
		int64_t quiet_ms; /* since its end, or since their last write */
		bool writing, may_begin, cut, waits;
	} rows[] = {
		{0, false, false, false, false}, /* nobody is left: at once */
		{0, false, true, false, true},   /* a writer that was just started */
		{OUTLIVED_QUIET_MS - 1, false, true, false, true},
		{OUTLIVED_QUIET_MS, false, true, false, false},
		{OUTLIVED_QUIET_MS, true, true, false, true},
		{OUTLIVED_STALL_MS - 1, true, false, false, true},
		{OUTLIVED_STALL_MS, true, true, false, false}, /* a daemon */
		{0, true, true, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct outlived_facts facts = {
			.now_ms = 50000,
			.since_ms = 50000 - rows[i].quiet_ms,
			.writing = rows[i].writing,
			.may_begin = rows[i].may_begin,
			.cut = rows[i].cut,
		};

		if (outlived_is_waited_for(&facts) != rows[i].waits)
			fail_msg("row %zu", i);
	}
}

/* Writes on when the main process has ended. */
static pid_t start_writer(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end_writer(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool spares_nobody(void *arg, pid_t pid)
{
	*(pid_t *)arg = pid;
	return false;
}

static bool spares_all(void *arg, pid_t pid)
{
	(void)arg, (void)pid;
	return true;
}

static void test_what_is_left_may_write_and_can_be_told_to_end(void **state)
{
	pid_t writer, seen = 0;
	int status;

	(void)state;
	assert_false(detached_process_may_write());
	writer = start_writer();
	assert_true(detached_process_may_write());
	assert_int_equal(terminate_tree(spares_all, NULL), 0);
	assert_int_equal(terminate_tree(spares_nobody, &seen), 1);
	assert_int_equal(seen, writer);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_int_equal(terminate_tree(spares_nobody, &seen), 0);
	writer = fork();
	if (writer == 0) {
		execlp("sleep", "sleep", "60", NULL);
		_exit(127);
	}
	/* Until its exec it is a copy of this program. */
	for (int i = 0; i < 5000 && detached_process_may_write(); i++)
		usleep(1000);
	assert_false(detached_process_may_write());
	end_writer(writer);
}

/* A writer that is left behind is the job, but for a command that was told to end, and after the
 * main process itself has failed. */
static void test_follow(void **state)
{
	static const struct {
		bool told_to_end, adopts;
		int status, first, says; /* the first that failed; and then the job's */
		uint64_t left_until;
	} rows[] = {
		{false, true, 0, 0, 0, 0},      {true, false, 0, 0, 0, 0},
		{false, false, 256, 0, 256, 0}, {false, true, 256, 0, 256, 1},
		{true, false, 0, 512, 512, 1},  {false, true, 256, 512, 512, 1},
	};

	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t writer = start_writer();
		struct detached_job detached = {.left_until = rows[i].left_until,
						.status = rows[i].first};
		struct detachment detachment = {.told_to_end = rows[i].told_to_end,
						.writers = &writer,
						.writer_count = 1};
		struct child child = {.status = rows[i].status};
		char text[DETACHED_TEXT_SIZE] = "";

		assert_int_equal(detached_process_follow(&detached, &detachment, 0, &child, text),
				 rows[i].adopts);
		assert_int_equal(child.status, rows[i].says);
		assert_int_equal(child.pid, rows[i].adopts ? writer : 0);
		assert_int_equal(detached.since_ms > 0, rows[i].adopts);
		assert_int_equal(detached.left_until > 0, rows[i].adopts || rows[i].left_until);
		end_writer(writer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_refuse),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_who_outlives_the_main_process),
		cmocka_unit_test(test_what_is_left_may_write_and_can_be_told_to_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
