// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmof prepare, revalidate, put --commit and get --valid.  LEN is always of the
 * whole object; what put takes and get gives is what stands before the trailer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "output.h"

static int check_object(const struct data *d, uint64_t offset, uint64_t length)
{
	if (offset % 8) {
		complain("offset %llu is not a multiple of 8: no object can be there (EINVAL)",
			 (unsigned long long)offset);
		return -EINVAL;
	}
	if (length % 8 || length < PMOF_OBJECT_MIN) {
		complain("an object cannot have %llu bytes (EINVAL)", (unsigned long long)length);
		hint("its length, the trailer of 8 bytes counted, is a multiple of 8 and at least "
		     "%d", PMOF_OBJECT_MIN);
		return -EINVAL;
	}
	return data_fits(d, offset, length) ? 0 : data_complain_range(d, offset, length);
}

static void print_generation(const struct data *d, uint64_t generation)
{
	struct json_object *o;

	if (!d->json) {
		printf("%llu\n", (unsigned long long)generation);
		return;
	}
	o = new_object();
	put_u64(o, "offset", d->value[0]);
	put_u64(o, "length", d->value[1]);
	put_u64(o, "generation", generation);
	print_json(o, false);
	json_object_put(o);
}

/* --- prepare, revalidate --------------------------------------------------- */

static int do_prepare(const struct data *d)
{
	int ret = check_object(d, d->value[0], d->value[1]);
	uint64_t generation;

	if (ret)
		return ret;
	ret = pmof_prepare(d->dev, d->value[0], d->value[1], &generation);
	if (ret) {
		explain_data(ret, "prepare on %s at %llu", d->device,
			     (unsigned long long)d->value[0]);
		return ret;
	}
	print_generation(d, generation);
	data_warn_volatile(d);
	return 0;
}

static int do_revalidate(const struct data *d)
{
	int ret = check_object(d, d->value[0], d->value[1]);
	uint64_t generation;

	if (ret)
		return ret;
	ret = pmof_revalidate(d->dev, d->value[0], d->value[1], &generation);
	if (ret == -EAGAIN) {
		complain("%s: no object of %llu bytes at %llu was committed (EAGAIN)", d->device,
			 (unsigned long long)d->value[1], (unsigned long long)d->value[0]);
		hint("its PF is not set, so it may be torn: prepare it and put it anew");
	} else if (ret) {
		explain_data(ret, "revalidate on %s at %llu", d->device,
			     (unsigned long long)d->value[0]);
	} else {
		print_generation(d, generation);
		data_warn_volatile(d);
	}
	return ret;
}

/* --- put --commit ---------------------------------------------------------- */

/*
 * Reads the input to its end, or until it is longer than @max; *len: how many
 * bytes.  There is room for a trailer behind them.
 */
static char *read_all(uint64_t max, size_t *len)
{
	size_t size = 1 << 16;
	char *buf = NULL, *grown;
	ssize_t n;

	*len = 0;
	for (;;) {
		grown = realloc(buf, size);
		if (!grown)
			break;
		buf = grown;
		n = data_read(buf + *len, size - PMOF_TRAILER_SIZE - *len);
		if (n < 0) {
			complain("cannot read standard input: %s", strerror((int)-n));
			free(buf);
			return NULL;
		}
		*len += (size_t)n;
		if (*len < size - PMOF_TRAILER_SIZE || *len > max)
			return buf;
		size *= 2;
	}
	complain("out of memory");
	free(buf);
	return NULL;
}

static int check_data(const struct data *d, uint64_t length)
{
	if (!data_fits(d, d->value[0], length))
		return data_complain_range(d, d->value[0], length);
	if (length % 8 || !length) {
		complain("standard input has %llu bytes: not a multiple of 8, or none (EINVAL)",
			 (unsigned long long)length);
		hint("an object's data is padded to a multiple of 8; the trailer of 8 bytes, which "
		     "LEN of `pmof prepare` counts, comes behind it by itself");
		return -EINVAL;
	}
	return check_object(d, d->value[0], length + PMOF_TRAILER_SIZE);
}

/*
 * Not every method looks at the trailer, and data of another length than what
 * was prepared would put it into the middle of something.
 */
static int check_prepared(const struct data *d, uint64_t length)
{
	uint64_t word;
	int ret = pmof_get(d->dev, &word, sizeof(word), d->value[0] + length - sizeof(word));

	if (ret) {
		explain_data(ret, "get from %s", d->device);
		return ret;
	}
	if (word == d->generation)
		return 0;
	explain_data(-ESTALE, "no object of %llu bytes at %llu of %s waits for generation %llu",
		     (unsigned long long)length, (unsigned long long)d->value[0], d->device,
		     (unsigned long long)d->generation);
	return -ESTALE;
}

static int put_object_data(const struct data *d, const char *buf, uint64_t length)
{
	int ret = check_prepared(d, length);

	if (ret)
		return ret;
	ret = pmof_put_commit(d->dev, buf, length, d->value[0], d->generation);
	if (ret) {
		explain_data(ret, "put to %s at %llu", d->device,
			     (unsigned long long)d->value[0]);
		return ret;
	}
	data_warn_volatile(d);
	if (d->verbose)
		fprintf(stderr, "%llu bytes put and committed, generation %llu\n",
			(unsigned long long)(length - PMOF_TRAILER_SIZE),
			(unsigned long long)d->generation);
	return 0;
}

int object_put(const struct data *d)
{
	char *buf;
	size_t n;
	int ret;

	if (!data_fits(d, d->value[0], 0))
		return data_complain_range(d, d->value[0], 0);
	buf = read_all(d->info.ns_size - d->value[0], &n);
	if (!buf)
		return -EIO;
	ret = check_data(d, n);
	if (!ret)
		ret = put_object_data(d, buf, n + PMOF_TRAILER_SIZE);
	free(buf);
	return ret;
}

/* --- get --valid ----------------------------------------------------------- */

int object_get(const struct data *d)
{
	uint64_t length = d->value[1], generation;
	int ret = check_object(d, d->value[0], length);
	char *buf;

	if (ret)
		return ret;
	buf = malloc(length);
	if (!buf) {
		complain("out of memory");
		return -ENOMEM;
	}
	ret = pmof_get_valid(d->dev, buf, length, d->value[0], &generation);
	if (ret)
		explain_data(ret, "get from %s at %llu", d->device,
			     (unsigned long long)d->value[0]);
	else
		ret = data_write(buf, length - PMOF_TRAILER_SIZE);
	if (!ret && d->verbose)
		fprintf(stderr, "%llu bytes got, generation %llu\n",
			(unsigned long long)(length - PMOF_TRAILER_SIZE),
			(unsigned long long)generation);
	free(buf);
	return ret;
}

/* --- the command line ------------------------------------------------------ */

int cmd_prepare(int argc, char **argv)
{
	static const struct data_command c = {
		.argp = { .options = json_options, .parser = parse_data,
			  .args_doc = "DEV OFFSET LEN",
			  .doc = "Prepares an object for a committed put: durably gives it a new "
				 "generation, which is printed, and clears its flags. LEN counts "
				 "the trailer of 8 bytes." },
		.min = 2, .max = 2, .names = { "OFFSET", "LEN" }, .flags = O_RDWR,
		.run = do_prepare,
	};

	return run_data(&c, argc, argv);
}

int cmd_revalidate(int argc, char **argv)
{
	static const struct data_command c = {
		.argp = { .options = json_options, .parser = parse_data,
			  .args_doc = "DEV OFFSET LEN",
			  .doc = "Makes an object that was committed visible again, after a crash "
				 "in which it lost only that, and prints its generation. LEN "
				 "counts the trailer of 8 bytes." },
		.min = 2, .max = 2, .names = { "OFFSET", "LEN" }, .flags = O_RDWR,
		.run = do_revalidate,
	};

	return run_data(&c, argc, argv);
}
