#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "drill/git_directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

/* Runs a line of a shell in `root`. */
static void shell(const char *root, const char *line)
{
	auto_free char *command = text_format(
		"cd %s && exec >/dev/null 2>&1 && export HOME=%s GIT_AUTHOR_NAME=a "
		"GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.c && "
		"commit() { git add -A && git commit -q -m \"$1\"; } && %s",
		root, root, line);

	if (system(command) != 0)
		fail_msg("%s", line);
}

/* How the user's .git is made in "user", of which the machine has a copy of the files. */
// clang-format off
static const struct {
	const char *what, *make;
} kinds[] = {
	{"a repository", "git init -q user && cd user && echo 1 >a && commit one"},
	{"with packs and tags", "git init -q user && cd user && echo 1 >a && commit one && git tag v1 && git gc -q"},
	{"a linked work tree", "git init -q main && cd main && echo 1 >a && commit one && git worktree add -q ../user -b side"},
	{"a submodule", "git init -q sub && (cd sub && echo 1 >a && commit one) && git init -q super && cd super && "
		"git -c protocol.file.allow=always submodule add -q ../sub part && cd .. && ln -s super/part user"},
	{"a work tree that the settings name", "git init -q user && cd user && git config core.worktree \"$PWD\" && echo 1 >a && commit one"},
};
// clang-format on

static void what_a_machine_commits_the_user_does_not_see(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char root[] = "/tmp/test-git-XXXXXX";

		assert_non_null(mkdtemp(root));
		auto_free char *from = text_format("%s/user/.git", root);
		auto_free char *to = text_format("%s/machine/.git", root);

		shell(root, kinds[i].make);
		shell(root, "mkdir machine && cp -p user/a machine/");
		shell(root, "cd user && git rev-parse HEAD HEAD^{tree} >../before && git status "
			    ">>../before");
		if (git_directory_make(from, to, NULL) < 0)
			fail_msg("%s", kinds[i].what);
		/* It has the same history, and nothing is changed. */
		shell(root, "cd machine && test -z \"$(git status --porcelain)\" && git log "
			    "--format=%s | grep -x one");
		shell(root, "cd machine && test \"$(git rev-parse HEAD)\" = \"$(git -C ../user "
			    "rev-parse HEAD)\"");
		shell(root, "cd machine && echo 2 >b && echo 3 >a && commit two && git branch more "
			    "&& git gc -q && git fsck");
		shell(root, "cd user && ! git log --all --format=%s | grep two && ! git rev-parse "
			    "-q --verify more && test ! -e b");
		shell(root, "cd user && git rev-parse HEAD HEAD^{tree} >../after && git status "
			    ">>../after && cmp ../before ../after && git fsck");
		assert_int_equal(file_remove_tree(root, NULL), 0);
	}
}

static void what_is_no_repository_has_none(void **state)
{
	char root[] = "/tmp/test-git-XXXXXX";
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(root));
	auto_free char *from = text_format("%s/user/.git", root);
	auto_free char *to = text_format("%s/machine/.git", root);
	for (unsigned i = 0; i < 3; i++) {
		shell(root, i == 0   ? "mkdir user machine && echo 'gitdir: ../nowhere' >user/.git"
			    : i == 1 ? "echo nothing >user/.git"
				     : "rm user/.git && mkdir user/.git");
		assert_int_equal(git_directory_make(from, to, &err), -1);
		assert_int_equal(err.kind, ERR_NOT_FOUND);
		assert_false(file_exists(to));
	}
	assert_int_equal(file_remove_tree(root, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_machine_commits_the_user_does_not_see),
		cmocka_unit_test(what_is_no_repository_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
