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

#define DMI(member, text)                                  \
	{                                                  \
		offsetof(struct environment, member), text \
	}

/* By what the firmware has. EC2's Xen generation shows it in the BIOS version only. */
static const struct cloud {
	enum metadata_service service;
	const struct provider *provider;
	struct {
		size_t at;
		const char *text; /* what the member contains; NULL: there is none */
	} firmware[2];
} clouds[] = {
	{METADATA_AWS, &provider_aws, {DMI(dmi_vendor, "Amazon EC2"), DMI(dmi_bios, "amazon")}},
	{METADATA_GOOGLE, &provider_gcp, {DMI(dmi_product, "Google")}},
	{METADATA_AZURE, &provider_azure, {DMI(dmi_chassis, AZURE_CHASSIS)}},
	{METADATA_ALIBABA,
	 &provider_alibaba,
	 {DMI(dmi_vendor, "Alibaba Cloud"), DMI(dmi_product, "Alibaba Cloud")}},
	{METADATA_TENCENT, &provider_tencent, {DMI(dmi_vendor, "Tencent Cloud")}},
};
#define CLOUDS (sizeof(clouds) / sizeof(clouds[0]))

static bool read_dmi(const char *name, char *target, size_t capacity)
{
	auto_(bytes_release) struct bytes content = {.limit = 4096};
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/dmi/id/%s", name);
	if (file_read(path, &content, NULL) < 0 || content.size == 0)
		return false;
	snprintf(target, capacity, "%.*s", (int)content.size, (const char *)content.data);
	target[strcspn(target, "\n")] = '\0';
	return true;
}

void detect_read_environment(struct environment *environment)
{
	static const struct {
		const char *name;
		size_t at;
	} variables[] = {
		{"REPRIEVE_GCP_NOTICE", offsetof(struct environment, gcp_notice)},
		{"SLURM_JOB_ID", offsetof(struct environment, slurm_job)},
		{"SLURM_JOB_END_TIME", offsetof(struct environment, slurm_end)},
		{"SLURM_ARRAY_JOB_ID", offsetof(struct environment, slurm_array)},
		{"SLURM_ARRAY_TASK_ID", offsetof(struct environment, slurm_element)},
	};
	bool read = false;

	*environment = (struct environment){0};
	for (size_t i = 0; i < METADATA_AWS_CONTAINER; i++)
		instance_metadata_endpoint((enum metadata_service)i, &environment->endpoints[i]);
	instance_metadata_aws_settings(&environment->aws);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = text_from_environment(variables[i].name);

		text_set((char *)environment + variables[i].at, sizeof(environment->slurm_job),
			 value ? value : "");
	}
	read |= read_dmi("sys_vendor", environment->dmi_vendor, sizeof(environment->dmi_vendor));
	read |= read_dmi("product_name", environment->dmi_product,
			 sizeof(environment->dmi_product));
	read |= read_dmi("bios_version", environment->dmi_bios, sizeof(environment->dmi_bios));
	read |= read_dmi("chassis_asset_tag", environment->dmi_chassis,
			 sizeof(environment->dmi_chassis));
	environment->dmi_readable = read;
}

static bool is_in_firmware(const struct cloud *cloud, const struct environment *environment)
{
	for (size_t i = 0; i < 2; i++)
		if (cloud->firmware[i].text &&
		    strstr((const char *)environment + cloud->firmware[i].at,
			   cloud->firmware[i].text))
			return true;
	return false;
}

/* --- the list --- */

enum {
	PROBE_MS = 1000
};

static const struct provider *const providers[] = {
	&provider_aws,     &provider_gcp,   &provider_azure,    &provider_alibaba,
	&provider_tencent, &provider_slurm, &provider_deadline, &provider_file,
};

static const struct provider *provider_by_name(const char *name)
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
		(struct watcher){.provider = provider, .argument = text_copy(argument)};
	return 0;
}

/* Every cloud whose endpoint is named, else the one that the firmware shows. */
static int add_detected_sources(const struct environment *environment, struct source_table *table,
				struct err *err)
{
	bool named = false, any = false;

	for (size_t i = 0; i < CLOUDS; i++)
		named |= environment->endpoints[clouds[i].service].is_named;
	for (size_t i = 0; i < CLOUDS; i++) {
		bool here = named ? environment->endpoints[clouds[i].service].is_named
				  : is_in_firmware(&clouds[i], environment);

		if (here && add_source(table, clouds[i].provider, "", err) < 0)
			return -1;
		any |= here;
	}
	if (environment->slurm_job[0] && add_source(table, &provider_slurm, "", err) < 0)
		return -1;
	return !any && !environment->dmi_readable ? add_source(table, NULL, "", err) : 0;
}

static int add_named_source(const char *name, const char *argument,
			    const struct environment *environment, struct source_table *table,
			    struct err *err)
{
	const struct provider *provider = provider_by_name(name);
	bool has_argument = argument[0];

	if (text_equal(name, "none"))
		return err_set(err, ERR_INVALID, "\"none\" cannot be combined with other sources");
	if (text_equal(name, "auto") && !has_argument)
		return add_detected_sources(environment, table, err);
	if (!provider || (has_argument && !provider->check))
		return err_set(err, ERR_INVALID,
			       "unknown notice source \"%s%s%s\": use auto, none, or names of: aws "
			       "gcp azure alibaba tencent slurm file:PATH",
			       name, has_argument ? ":" : "", argument);
	if (provider->check && provider->check(argument, err) < 0)
		return -1;
	return add_source(table, provider, argument, err);
}

int source_table_select(const char *sources, const char *deadline,
			const struct environment *environment, struct source_table *table,
			struct err *err)
{
	auto_free char *list = text_copy(sources && sources[0] ? sources : "auto");
	char *rest = text_equal(list, "none") ? NULL : list, *item;

	while ((item = strsep(&rest, ","))) {
		char *name = item + strspn(item, " "), *colon = strchr(name, ':');

		if (colon)
			*colon++ = '\0';
		if (add_named_source(name, colon ? colon : "", environment, table, err) < 0)
			return -1;
	}
	return deadline && *deadline
		       ? add_named_source("deadline", deadline, environment, table, err)
		       : 0;
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
