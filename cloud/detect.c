#include "detect.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINK_LOCAL "http://169.254.169.254"
/* Of every VM on Azure (cloud-init's ds-identify uses it as well). */
#define AZURE_CHASSIS "7783-7084-3265-9085-8269-3286-77"

enum {
	PROBE_MS = 1000
};

static void read_variable(const char *name, char *target, size_t capacity)
{
	const char *value = getenv(name);

	if (value && value[0])
		text_set(target, capacity, value);
}

static bool read_flag(const char *name)
{
	const char *value = getenv(name);

	return value && strcasecmp(value, "true") == 0;
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
	const char *mode = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
	const char *timeout = getenv("AWS_METADATA_SERVICE_TIMEOUT");
	bool read = false;

	*environment = (struct environment){.aws_timeout_ms = 2000};
	read_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT", environment->aws_endpoint,
		      sizeof(environment->aws_endpoint));
	/* Each older name is overruled by the next. */
	read_variable("GCE_METADATA_IP", environment->gcp_host, sizeof(environment->gcp_host));
	read_variable("GCE_METADATA_ROOT", environment->gcp_host, sizeof(environment->gcp_host));
	read_variable("GCE_METADATA_HOST", environment->gcp_host, sizeof(environment->gcp_host));
	read_variable("REPRIEVE_AZURE_METADATA_ENDPOINT", environment->azure_endpoint,
		      sizeof(environment->azure_endpoint));
	read_variable("REPRIEVE_ALIBABA_METADATA_ENDPOINT", environment->alibaba_endpoint,
		      sizeof(environment->alibaba_endpoint));
	read_variable("REPRIEVE_TENCENT_METADATA_ENDPOINT", environment->tencent_endpoint,
		      sizeof(environment->tencent_endpoint));
	read_variable("REPRIEVE_GCP_NOTICE", environment->gcp_notice,
		      sizeof(environment->gcp_notice));
	read_variable("SLURM_JOB_ID", environment->slurm_job, sizeof(environment->slurm_job));
	read_variable("SLURM_JOB_END_TIME", environment->slurm_end, sizeof(environment->slurm_end));
	environment->aws_disabled = read_flag("AWS_EC2_METADATA_DISABLED");
	environment->aws_tokenless_allowed = !read_flag("AWS_EC2_METADATA_V1_DISABLED");
	environment->aws_ipv6 = mode && strcasecmp(mode, "IPv6") == 0;
	if (timeout && text_to_duration_ms(timeout, &environment->aws_timeout_ms) &&
	    environment->aws_timeout_ms < 100)
		environment->aws_timeout_ms = 100;
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
	unsigned overrides =
		(environment->aws_endpoint[0] ? DETECT_AWS : 0u) |
		(environment->gcp_host[0] ? DETECT_GCP : 0u) |
		(environment->azure_endpoint[0] ? DETECT_AZURE : 0u) |
		(environment->alibaba_endpoint[0] ? DETECT_ALIBABA : 0u) |
		(environment->tencent_endpoint[0] ? DETECT_TENCENT : 0u);

	if (overrides)
		return overrides;
	if (!environment->dmi_readable)
		return DETECT_PROBE;
	/* The Xen generation of EC2 shows it in the BIOS version only. */
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
	bool is_slurm = environment->slurm_job[0] && environment->slurm_end[0];

	return choose_cloud(environment) | (is_slurm ? DETECT_SLURM : 0u);
}

static void strip_trailing_slashes(char *endpoint)
{
	size_t length = strlen(endpoint);

	while (length && endpoint[length - 1] == '/')
		endpoint[--length] = '\0';
}

void detect_aws_endpoint(const struct environment *environment, char *endpoint, size_t capacity)
{
	text_set(endpoint, capacity,
		 environment->aws_endpoint[0] ? environment->aws_endpoint
		 : environment->aws_ipv6      ? "http://[fd00:ec2::254]"
					      : LINK_LOCAL);
	strip_trailing_slashes(endpoint);
}

void detect_gcp_endpoint(const struct environment *environment, char *endpoint, size_t capacity)
{
	/* By address: away from Google, the name may take the resolver half a minute. */
	if (!environment->gcp_host[0])
		text_set(endpoint, capacity, LINK_LOCAL);
	else
		snprintf(endpoint, capacity, "%s%s",
			 strstr(environment->gcp_host, "://") ? "" : "http://",
			 environment->gcp_host);
	strip_trailing_slashes(endpoint);
}

void detect_azure_endpoint(const struct environment *environment, char *endpoint, size_t capacity)
{
	text_set(endpoint, capacity,
		 environment->azure_endpoint[0] ? environment->azure_endpoint : LINK_LOCAL);
	strip_trailing_slashes(endpoint);
}

void detect_alibaba_endpoint(const struct environment *environment, char *endpoint, size_t capacity)
{
	text_set(endpoint, capacity,
		 environment->alibaba_endpoint[0] ? environment->alibaba_endpoint
						  : "http://100.100.100.200");
	strip_trailing_slashes(endpoint);
}

void detect_tencent_endpoint(const struct environment *environment, char *endpoint, size_t capacity)
{
	text_set(endpoint, capacity,
		 environment->tencent_endpoint[0] ? environment->tencent_endpoint
						  : "http://metadata.tencentyun.com");
	strip_trailing_slashes(endpoint);
}

const struct provider *detect_probe(const char *endpoint, struct cancel *cancel)
{
	static const struct provider *const candidates[] = {&provider_gcp, &provider_azure,
							    &provider_aws};
	int64_t until = clock_monotonic_ms() + PROBE_MS;

	/* EC2 last: some imitations of it live beside the real services of others. */
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		if (clock_left_ms(until) == 0 || cancel_raised(cancel))
			break;
		if (candidates[i]->probe(endpoint, cancel))
			return candidates[i];
	}
	return NULL;
}
