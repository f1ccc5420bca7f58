/* What of a command line is kept, by a table. */
#include "telemetry/telemetry.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define KEY "0123456789abcdef0123456789abcdef01234567"

static char *redacted(const char *before, const char *word)
{
	char *command[] = {(char *)(before ? before : word), (char *)word, NULL};

	return redact_argument(before ? command : command + 1, before ? 1 : 0);
}

static void test_masked(void **state)
{
	static const struct {
		const char *before, *word, *kept;
	} rows[] = {
		/* both forms of an option, and a variable */
		{"--api-key", "ARGSECRET", "***"},
		{"--API_KEY", "a b", "***"},
		{"--token", "s", "***"},
		{"-hf_token", "s", "***"},
		{"--password", "s", "***"},
		{"--db-passwd", "s", "***"},
		{"--client-secret", "s", "***"},
		{"++model.access_key", "s", "s"},
		{NULL, "--api-key=ARGSECRET", "--api-key=***"},
		{NULL, "--password=two words", "--password=***"},
		{NULL, "--token=", "--token=***"},
		{"env", "WANDB_API_KEY=s", "WANDB_API_KEY=***"},
		{"env", "HF_TOKEN=s=t", "HF_TOKEN=***"},
		{"env", "DB_PASSWORD_FILE=s", "DB_PASSWORD_FILE=***"},
		{"env", "PASSWORD=two words", "PASSWORD=***"},
		{"x.py", "model.apikey=s", "model.apikey=***"},
		{"x.py", "+model.api_key=s", "+model.api_key=***"},
		{"srun", "--export=ALL,HF_TOKEN=s", "--export=ALL,HF_TOKEN=***"},
		{"docker", "--env=HF_TOKEN=s", "--env=HF_TOKEN=***"},
		/* scripts */
		{"-c", "HF_TOKEN=s python a.py --lr 3 --api-key=t --secret u; ls",
		 "HF_TOKEN=*** python a.py --lr 3 --api-key=*** --secret ***; ls"},
		{"-lc", "export A_KEY='s t' B=2 && run", "export A_KEY=*** B=2 && run"},
		{"-c", "ssh host 'C_SECRET=s run' \"x\"", "ssh host 'C_SECRET=*** run' \"x\""},
		{"host", "cd /a && HF_TOKEN=s run", "cd /a && HF_TOKEN=*** run"},
		{"-c", " it's --token s ", " it's --token *** "},
		/* names that a suffix does not tell */
		{"--auth", "s", "***"},
		{"--pat", "s", "***"},
		{"--credentials", "s", "***"},
		{"--pwd", "s", "***"},
		{"--bearer", "s", "***"},
		{"--db.pass", "s", "***"},
		{NULL, "--proxy-auth=s", "--proxy-auth=***"},
		{"--conn", "Protocol=https;AccountName=a;AccountKey=s==;Suffix=x",
		 "Protocol=https;AccountName=a;AccountKey=***;Suffix=x"},
		/* a key behind a word that is also used without one */
		{"--use_wandb", KEY, "***"},
		{"login", KEY, "***"},
		{"--judge", "sk-proj-" KEY, "***"},
		{NULL, "--use_wandb=" KEY, "--use_wandb=***"},
		{"-c", "wandb login " KEY " && run", "wandb login *** && run"},
		/* a query alone */
		{"get", "X-Amz-Signature=s", "X-Amz-Signature=***"},
		{"get", "sv=1&sig=S%2B", "sv=1&sig=***"},
		/* URLs */
		{"--db", "postgres://user:PW@db/x", "postgres://user:***@db/x"},
		{"--db", "postgres://user:P/W@db/x", "postgres://user:***@db/x"},
		{NULL, "--db=mysql://user:P@W@db:3306/x", "--db=mysql://user:***@db:3306/x"},
		{"clone", "https://x:TOKEN@git/r", "https://x:***@git/r"},
		{"clone", "https://TOKEN@git/r", "https://***@git/r"},
		{"env", "DATABASE_URL=redis://:s@h:1", "DATABASE_URL=redis://:***@h:1"},
		{"get", "https://h/x?sv=1&sig=S%2B&se=2", "https://h/x?sv=1&sig=***&se=2"},
		{"get", "https://h/x?X-Amz-Date=1&X-Amz-Signature=s",
		 "https://h/x?X-Amz-Date=1&X-Amz-Signature=***"},
		{"get", "https://h/x?X-Amz-Security-Token=s#a",
		 "https://h/x?X-Amz-Security-Token=***#a"},
		{"get", "https://h/x?key=s&access_token=t", "https://h/x?key=***&access_token=***"},
		/* headers */
		{"-H", "Authorization: Bearer s", "Authorization: ***"},
		{"-H", "authorization:s", "authorization:***"},
		{"-H", "X-Api-Key: s", "X-Api-Key: ***"},
		{"-H", "Cookie: a=b; c=d", "Cookie: ***"},
		{NULL, "--header=Private-Token: s", "--header=Private-Token: ***"},
		{"-c", "curl -H 'Authorization: Bearer s' https://h",
		 "curl -H 'Authorization: ***' https://h"},
		{"-c", "curl -H Authorization:Bearer\\ s h", "curl -H Authorization:*** h"},
		/* members of JSON */
		{"--config", "{\"api_key\": \"s\", \"lr\": 3}",
		 "{\"api_key\": \"***\", \"lr\": 3}"},
		{"--config", "{'password':'s t'}", "{'password':'***'}"},
		/* of a user with a password */
		{"-c", "curl -u me:s h", "curl -u me:*** h"},
		/* what is none */
		{"x", "-p8080", "-p8080"},
		{"docker", "-u", "-u"},
		{"env", "PWD=/home/me", "PWD=/home/me"},
		{"train.py", "hf_internal-testing", "hf_internal-testing"},
		{"clone", "ssh://git@host/r", "ssh://git@host/r"},
		{"get", "http://host:8080/a@b", "http://host:8080/a@b"},
		{"get", "http://[::1]:80/a@b", "http://[::1]:80/a@b"},
		{"-s", "s3://bucket/prefix?x=1", "s3://bucket/prefix?x=1"},
		{"--config", "{\"lr\": \"3\"}", "{\"lr\": \"3\"}"},
		{"--patience", "5", "5"},
		{"--bypass", "5", "5"},
		{NULL, "python", "python"},
		{"--tokenizer", "llama", "llama"},
		{"--max-tokens", "512", "512"},
		{"--token", "--verbose", "--verbose"},
		{"--token=x", "y", "y"},
		{"--key", "name", "name"},
		{"train.py", "key=name", "key=name"},
		{"train.py", "monkey=1", "monkey=1"},
		{NULL, "--lr=3e-4", "--lr=3e-4"},
		{"token", "x", "x"},
		{"-c", "import torch; print(1)", "import torch; print(1)"},
		{"-c", "echo 'a b' \"\" '", "echo 'a b' \"\" '"},
		{"-c", "", ""},
		{"--data", "two words", "two words"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *kept = redacted(rows[i].before, rows[i].word);
		auto_free char *again = redacted(rows[i].before, kept);

		assert_string_equal(kept, rows[i].kept);
		assert_string_equal(again, rows[i].kept);
	}
}

static void test_command(void **state)
{
	char *const command[] = {"train", "--api-key", "s3cret", "\xff", NULL};
	auto_json json_t *words = redact_command(command);
	auto_free char *text = json_dumps(words, JSON_COMPACT);

	(void)state;
	assert_string_equal(text, "[\"train\",\"--api-key\",\"***\",\"(not UTF-8)\"]");
}

static void test_a_command_of_megabytes_is_cut(void **state)
{
	auto_free char *script = memory_new(1 << 20);
	char *const command[] = {"sh", "-c", script, "more", NULL};
	auto_json json_t *words = NULL, *others = NULL;

	(void)state;
	memset(script, 'x', (1 << 20) - 1);
	words = redact_command(command);
	assert_int_equal(json_array_size(words), 3);
	assert_non_null(strstr(json_string_value(json_array_get(words, 2)), "(and more: "));
	/* Another command is not taken for the same. */
	script[5] = 'y';
	others = redact_command(command);
	assert_false(json_equal(words, others));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masked),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_a_command_of_megabytes_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
