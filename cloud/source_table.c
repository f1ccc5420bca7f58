#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>

enum {
	PROBE_MS = 1000
};

static const struct provider *const providers[] = {
	&provider_aws,     &provider_gcp,   &provider_azure,    &provider_alibaba,
	&provider_tencent, &provider_slurm, &provider_deadline, &provider_file,
};

const struct provider *provider_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
		if (text_equal(providers[i]->name, name))
			return providers[i];
	return NULL;
}

const char *source_entry_name(const struct source_entry *source)
{
	return source->provider ? source->provider->name : "auto";
}

static int add_source(struct source_table *table, const struct provider *provider,
		      const char *argument, struct err *err)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].provider == provider &&
		    text_equal(table->items[i].argument, argument))
			return 0;
	if (table->count == CLOUD_SOURCES_MOST)
		return err_set(err, ERR_INVALID, "more than %d notice sources", CLOUD_SOURCES_MOST);
	table->items[table->count++] =
		(struct source_entry){.provider = provider, .argument = text_copy(argument)};
	return 0;
}

static int add_detected_sources(const struct environment *environment, struct source_table *table,
				struct err *err)
{
	static const struct {
		unsigned bit;
		const struct provider *provider;
	} rows[] = {
		{DETECT_AWS, &provider_aws},
		{DETECT_GCP, &provider_gcp},
		{DETECT_AZURE, &provider_azure},
		{DETECT_ALIBABA, &provider_alibaba},
		{DETECT_TENCENT, &provider_tencent},
		{DETECT_SLURM, &provider_slurm},
		{DETECT_PROBE, NULL},
	};
	unsigned found = detect_sources(environment);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((found & rows[i].bit) && add_source(table, rows[i].provider, "", err) < 0)
			return -1;
	return 0;
}

static int add_named_source(const struct source_choice *choice,
			    const struct environment *environment, struct source_table *table,
			    struct err *err)
{
	const struct provider *provider = provider_by_name(choice->name);
	bool has_argument = choice->argument[0];

	if (text_equal(choice->name, "none"))
		return err_set(err, ERR_INVALID, "\"none\" cannot be combined with other sources");
	if (text_equal(choice->name, "auto") && !has_argument)
		return add_detected_sources(environment, table, err);
	if (!provider || (has_argument && !provider->check))
		return err_set(err, ERR_INVALID,
			       "unknown notice source \"%s%s%s\": use auto, none, or a list "
			       "of aws, gcp, azure, alibaba, tencent, slurm, file:PATH, "
			       "deadline:TIME",
			       choice->name, has_argument ? ":" : "", choice->argument);
	if (provider->check && provider->check(choice->argument, err) < 0)
		return -1;
	return add_source(table, provider, choice->argument, err);
}

int source_table_select(const char *sources, const char *deadline,
			const struct environment *environment, struct source_table *table,
			struct err *err)
{
	auto_free char *list = text_copy(sources && sources[0] ? sources : "auto");
	char *at = text_equal(list, "none") ? NULL : list;
	struct source_choice choice;

	while (source_list_next(&at, &choice))
		if (add_named_source(&choice, environment, table, err) < 0)
			return -1;
	choice = (struct source_choice){"deadline", deadline};
	return deadline ? add_named_source(&choice, environment, table, err) : 0;
}

void source_table_release(struct source_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->items[i].argument);
	*table = (struct source_table){0};
}

const struct provider *source_table_probe(const char *endpoint, struct cancel *cancel)
{
	/* EC2 last: some imitations of it live beside the real services of others. */
	static const struct provider *const candidates[] = {&provider_gcp, &provider_azure,
							    &provider_aws};
	int64_t until = clock_monotonic_ms() + PROBE_MS;

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		if (clock_left_ms(until) == 0 || cancel_raised(cancel))
			break;
		if (candidates[i]->probe(endpoint, cancel))
			return candidates[i];
	}
	return NULL;
}
