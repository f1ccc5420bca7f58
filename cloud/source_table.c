#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- detect --- */

/* The chassis asset tag of every Azure VM (cloud-init's ds-identify uses it as well). */
#define AZURE_CHASSIS "7783-7084-3265-9085-8269-3286-77"

static const struct {
	enum metadata_service service;
	unsigned bit;
	const struct provider *provider;
} clouds[] = {
	{METADATA_AWS, DETECT_AWS, &provider_aws},
	{METADATA_GOOGLE, DETECT_GCP, &provider_gcp},
	{METADATA_AZURE, DETECT_AZURE, &provider_azure},
	{METADATA_ALIBABA, DETECT_ALIBABA, &provider_alibaba},
	{METADATA_TENCENT, DETECT_TENCENT, &provider_tencent},
};
#define CLOUDS (sizeof(clouds) / sizeof(clouds[0]))

static void read_variable(const char *name, char *target, size_t capacity)
{
	const char *value = text_from_environment(name);

	if (value)
		text_set(target, capacity, value);
}

static bool read_dmi(const char *name, char *target, size_t capacity)
{
	auto_(bytes_release) struct bytes content = {.limit = 4096};
	char path[64];
	size_t length;

	snprintf(path, sizeof(path), "/sys/class/dmi/id/%s", name);
	if (file_read(path, &content, NULL) < 0 || content.size == 0)
		return false;
	length = content.size < capacity ? content.size : capacity - 1;
	memcpy(target, content.data, length);
	target[length] = '\0';
	target[strcspn(target, "\n")] = '\0';
	return true;
}

void detect_read_environment(struct environment *environment)
{
	bool read = false;

	*environment = (struct environment){0};
	for (size_t i = 0; i < METADATA_AWS_CONTAINER; i++)
		instance_metadata_endpoint((enum metadata_service)i, &environment->endpoints[i]);
	instance_metadata_aws_settings(&environment->aws);
	read_variable("REPRIEVE_GCP_NOTICE", environment->gcp_notice,
		      sizeof(environment->gcp_notice));
	read_variable("SLURM_JOB_ID", environment->slurm_job, sizeof(environment->slurm_job));
	read_variable("SLURM_JOB_END_TIME", environment->slurm_end, sizeof(environment->slurm_end));
	read_variable("SLURM_ARRAY_JOB_ID", environment->slurm_array,
		      sizeof(environment->slurm_array));
	read_variable("SLURM_ARRAY_TASK_ID", environment->slurm_element,
		      sizeof(environment->slurm_element));
	read |= read_dmi("sys_vendor", environment->dmi_vendor, sizeof(environment->dmi_vendor));
	read |= read_dmi("product_name", environment->dmi_product,
			 sizeof(environment->dmi_product));
	read |= read_dmi("bios_version", environment->dmi_bios, sizeof(environment->dmi_bios));
	read |= read_dmi("chassis_asset_tag", environment->dmi_chassis,
			 sizeof(environment->dmi_chassis));
	environment->dmi_readable = read;
}

static unsigned choose_cloud(const struct environment *environment)
{
	unsigned named = 0;

	for (size_t i = 0; i < CLOUDS; i++)
		named |= environment->endpoints[clouds[i].service].is_named ? clouds[i].bit : 0;
	if (named)
		return named;
	if (!environment->dmi_readable)
		return DETECT_PROBE;
	/* EC2's Xen generation shows it in the BIOS version only. */
	if (strcmp(environment->dmi_vendor, "Amazon EC2") == 0 ||
	    strstr(environment->dmi_bios, "amazon"))
		return DETECT_AWS;
	if (text_starts(environment->dmi_product, "Google"))
		return DETECT_GCP;
	if (strcmp(environment->dmi_chassis, AZURE_CHASSIS) == 0)
		return DETECT_AZURE;
	if (text_starts(environment->dmi_vendor, "Alibaba Cloud") ||
	    text_starts(environment->dmi_product, "Alibaba Cloud"))
		return DETECT_ALIBABA;
	if (text_starts(environment->dmi_vendor, "Tencent Cloud"))
		return DETECT_TENCENT;
	return 0;
}

unsigned detect_sources(const struct environment *environment)
{
	return choose_cloud(environment) | (environment->slurm_job[0] ? DETECT_SLURM : 0u);
}

/* --- source_list --- */

bool source_list_next(char **list, struct source_choice *choice)
{
	char *item, *colon;

	if (!*list)
		return false;
	while (**list == ' ')
		(*list)++;
	item = strsep(list, ",");
	colon = strchr(item, ':');
	if (colon)
		*colon++ = '\0';
	*choice = (struct source_choice){item, colon ? colon : ""};
	return true;
}

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
	unsigned found = detect_sources(environment);

	for (size_t i = 0; i < CLOUDS; i++)
		if ((found & clouds[i].bit) && add_source(table, clouds[i].provider, "", err) < 0)
			return -1;
	if ((found & DETECT_SLURM) && add_source(table, &provider_slurm, "", err) < 0)
		return -1;
	return found & DETECT_PROBE ? add_source(table, NULL, "", err) : 0;
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
