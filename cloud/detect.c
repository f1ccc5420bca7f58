#include "watcher.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The chassis asset tag of every Azure VM (cloud-init's ds-identify uses it as well). */
#define AZURE_CHASSIS "7783-7084-3265-9085-8269-3286-77"

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
	static const struct {
		enum metadata_service service;
		unsigned bit;
	} rows[] = {
		{METADATA_AWS, DETECT_AWS},         {METADATA_GOOGLE, DETECT_GCP},
		{METADATA_AZURE, DETECT_AZURE},     {METADATA_ALIBABA, DETECT_ALIBABA},
		{METADATA_TENCENT, DETECT_TENCENT},
	};
	unsigned named = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		named |= environment->endpoints[rows[i].service].is_named ? rows[i].bit : 0;
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
