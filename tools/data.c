// SPDX-License-Identifier: BSD-3-Clause
/* pmof put, get, persist, cas and fetch-add; object.c has what is about objects. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data.h"
#include "output.h"

#define CHUNK	(1UL << 20)	/* bytes of one put or get */

static int open_device(struct data *d, int flags)
{
	int ret = pmof_open(d->device, flags, &d->dev);

	if (ret) {
		explain_device(ret, d->device);
		return ret;
	}
	ret = pmof_get_info(d->dev, &d->info, sizeof(d->info));
	if (ret) {
		explain_data(ret, "%s", d->device);
		pmof_close(d->dev);
	}
	return ret;
}

bool data_fits(const struct data *d, uint64_t offset, uint64_t length)
{
	return offset <= d->info.ns_size && length <= d->info.ns_size - offset;
}

int data_complain_range(const struct data *d, uint64_t offset, uint64_t length)
{
	complain("%s: offset %llu + %llu bytes is past the end (ERANGE)", d->device,
		 (unsigned long long)offset, (unsigned long long)length);
	hint("the namespace '%s' has %llu bytes", d->info.name,
	     (unsigned long long)d->info.ns_size);
	return -ERANGE;
}

void warn_volatile(const char *name)
{
	complain("warning: acknowledgements of '%s' are not durable (exported with "
		 "--allow-volatile)", name);
}

void data_warn_volatile(const struct data *d)
{
	if (!(d->info.flags & PMOF_INFO_DURABLE))
		warn_volatile(d->info.name);
}

/* --- put ------------------------------------------------------------------- */

/* Reads until @size bytes are there or the input ends. */
ssize_t data_read(char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		n = read(STDIN_FILENO, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* Of a regular file the length is known before anything is written. */
static int check_input(const struct data *d)
{
	struct stat st;
	off_t at;

	if (!data_fits(d, d->value[0], 0))
		return data_complain_range(d, d->value[0], 0);
	if (fstat(STDIN_FILENO, &st) || !S_ISREG(st.st_mode))
		return 0;
	at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	if (at < 0 || at >= st.st_size || data_fits(d, d->value[0], (uint64_t)(st.st_size - at)))
		return 0;
	return data_complain_range(d, d->value[0], (uint64_t)(st.st_size - at));
}

/* Puts all of the input; @total: bytes put, also on error. */
static int put_input(const struct data *d, char *buf, uint64_t *total)
{
	uint64_t offset = d->value[0];
	ssize_t n;
	int ret;

	while ((n = data_read(buf, CHUNK)) > 0) {
		if (!data_fits(d, offset, (uint64_t)n))
			return data_complain_range(d, offset, (uint64_t)n);
		ret = pmof_put(d->dev, buf, (uint64_t)n, offset, 0);
		if (ret) {
			explain_data(ret, "put to %s at %llu", d->device,
				     (unsigned long long)offset);
			return ret;
		}
		offset += (uint64_t)n;
		*total += (uint64_t)n;
	}
	if (n < 0)
		complain("cannot read standard input: %s", strerror((int)-n));
	return (int)n;
}

static int do_put(const struct data *d)
{
	uint64_t total = 0;
	char *buf;
	int ret;

	if (d->commit)
		return object_put(d);
	ret = check_input(d);
	if (ret)
		return ret;
	buf = malloc(CHUNK);
	if (!buf) {
		complain("out of memory");
		return -ENOMEM;
	}
	ret = put_input(d, buf, &total);
	free(buf);
	if (ret) {
		hint("%llu bytes were put before that; none of them is known to be durable",
		     (unsigned long long)total);
		return ret;
	}
	if (d->persist) {
		ret = pmof_persist(d->dev, d->value[0], total);
		if (ret)
			explain_persist(ret, "%llu bytes were put to %s, but not persisted",
					(unsigned long long)total, d->device);
		else
			data_warn_volatile(d);
	}
	if (!ret && d->verbose)
		fprintf(stderr, "%llu bytes put%s\n", (unsigned long long)total,
			d->persist ? " and persisted" : "");
	return ret;
}

/* --- get ------------------------------------------------------------------- */

int data_write(const char *buf, size_t size)
{
	ssize_t n;

	while (size) {
		n = write(STDOUT_FILENO, buf, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			complain("cannot write standard output: %s", strerror(errno));
			return -errno;
		}
		buf += n;
		size -= (size_t)n;
	}
	return 0;
}

static int get_output(const struct data *d, char *buf)
{
	uint64_t offset = d->value[0], left = d->value[1], n;
	int ret;

	for (; left; left -= n, offset += n) {
		n = left < CHUNK ? left : CHUNK;
		ret = pmof_get(d->dev, buf, n, offset);
		if (ret)
			explain_data(ret, "get from %s at %llu", d->device,
				     (unsigned long long)offset);
		else
			ret = data_write(buf, n);
		if (ret)
			return ret;
	}
	return 0;
}

static int do_get(const struct data *d)
{
	char *buf;
	int ret;

	if (d->valid)
		return object_get(d);
	if (!data_fits(d, d->value[0], d->value[1]))
		return data_complain_range(d, d->value[0], d->value[1]);
	buf = malloc(CHUNK);
	if (!buf) {
		complain("out of memory");
		return -ENOMEM;
	}
	ret = get_output(d, buf);
	free(buf);
	if (!ret && d->verbose)
		fprintf(stderr, "%llu bytes got\n", (unsigned long long)d->value[1]);
	return ret;
}

/* --- persist --------------------------------------------------------------- */

static int do_persist(const struct data *d)
{
	uint64_t offset = d->nr ? d->value[0] : 0;
	uint64_t length = d->nr ? d->value[1] : d->info.ns_size;
	int ret;

	if (!data_fits(d, offset, length))
		return data_complain_range(d, offset, length);
	ret = pmof_persist(d->dev, offset, length);
	if (ret)
		explain_persist(ret, "persist on %s", d->device);
	else
		data_warn_volatile(d);
	return ret;
}

/* --- atomics --------------------------------------------------------------- */

static int check_atomic(const struct data *d)
{
	if (d->value[0] % 8) {
		complain("%s: offset %llu is not a multiple of 8 (EINVAL)", d->device,
			 (unsigned long long)d->value[0]);
		return -EINVAL;
	}
	return data_fits(d, d->value[0], 8) ? 0 : data_complain_range(d, d->value[0], 8);
}

static void print_cas(const struct data *d, uint64_t old)
{
	bool stored = old == d->value[1];
	struct json_object *o;

	if (!d->json) {
		printf("%llu %s\n", (unsigned long long)old, stored ? "stored" : "not stored");
		return;
	}
	o = new_object();
	put_u64(o, "old", old);
	put_bool(o, "stored", stored);
	print_json(o, false);
	json_object_put(o);
}

/* Not stored is a failure for the exit status, as grep's. */
static int do_cas(const struct data *d)
{
	uint64_t old = 0;
	int ret = check_atomic(d);

	if (ret)
		return ret;
	ret = pmof_cas(d->dev, d->value[0], d->value[1], d->value[2],
		       d->persist ? PMOF_F_PERSIST : 0, &old);
	if (ret) {
		explain_data(ret, "cas on %s", d->device);
		return ret;
	}
	print_cas(d, old);
	if (d->persist)
		data_warn_volatile(d);
	return old == d->value[1] ? 0 : -EAGAIN;
}

static int do_fetch_add(const struct data *d)
{
	struct json_object *o;
	uint64_t old = 0;
	int ret = check_atomic(d);

	if (ret)
		return ret;
	ret = pmof_fetch_add(d->dev, d->value[0], d->value[1], d->persist ? PMOF_F_PERSIST : 0,
			     &old);
	if (ret) {
		explain_data(ret, "fetch-add on %s", d->device);
		return ret;
	}
	if (d->json) {
		o = new_object();
		put_u64(o, "old", old);
		print_json(o, false);
		json_object_put(o);
	} else {
		printf("%llu\n", (unsigned long long)old);
	}
	if (d->persist)
		data_warn_volatile(d);
	return 0;
}

/* --- the command line ------------------------------------------------------ */

static const struct argp_option put_options[] = {
	{ "persist", OPT_PERSIST, NULL, 0, "Make it durable: one PERSIST of the whole range at "
	  "the end", 0 },
	{ "commit", OPT_COMMIT, "GENERATION", 0, "Put an object that was prepared with this "
	  "generation, and commit it; the data is a multiple of 8 bytes, LEN of the object less "
	  "its trailer of 8", 0 },
	{ "verbose", 'v', NULL, 0, "Report the number of bytes", 0 },
	{ 0 }
};

static const struct argp_option get_options[] = {
	{ "valid", OPT_VALID, NULL, 0, "Get an object, provided that it is committed: LEN counts "
	  "its trailer, which is not written", 0 },
	{ "verbose", 'v', NULL, 0, "Report the number of bytes", 0 },
	{ 0 }
};

static const struct argp_option atomic_options[] = {
	{ "persist", OPT_PERSIST, NULL, 0, "Durable when the command returns", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 }
};

struct parse_input {
	const struct data_command *command;
	struct data *data;
};

static void parse_value(const struct data_command *c, struct data *d, char *arg,
			struct argp_state *state)
{
	unsigned int n = d->nr;

	if (n == c->max)
		argp_usage(state);
	if (c->words & (1U << n))
		d->value[n] = arg_word(state, c->names[n], arg);
	else
		d->value[n] = arg_size(state, c->names[n], arg);
	d->nr++;
}

static uint64_t arg_generation(struct argp_state *state, const char *arg)
{
	uint64_t generation = arg_u64(state, "GENERATION", arg);

	if (!generation || generation > PMOF_GENERATION_MASK)
		argp_error(state, "GENERATION '%s' is out of range: `pmof prepare` prints it",
			   arg);
	return generation;
}

error_t parse_data(int key, char *arg, struct argp_state *state)
{
	const struct parse_input *in = state->input;
	struct data *d = in->data;

	switch (key) {
	case OPT_PERSIST:
		d->persist = true;
		return 0;
	case OPT_JSON:
		d->json = true;
		return 0;
	case OPT_COMMIT:
		d->commit = true;
		d->generation = arg_generation(state, arg);
		return 0;
	case OPT_VALID:
		d->valid = true;
		return 0;
	case 'v':
		d->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!state->arg_num)
			d->device = arg;
		else
			parse_value(in->command, d, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!state->arg_num || d->nr < in->command->min ||
		    (d->nr > in->command->min && d->nr < in->command->max))
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int run_data(const struct data_command *c, int argc, char **argv)
{
	struct data d = { .nr = 0 };
	struct parse_input in = { c, &d };
	int ret;

	argp_parse(&c->argp, argc, argv, 0, NULL, &in);
	/* A committed put looks at the trailer first. */
	ret = open_device(&d, d.commit ? O_RDWR : c->flags);
	if (ret)
		return EXIT_FAILED;
	ret = c->run(&d);
	pmof_close(d.dev);
	return ret ? EXIT_FAILED : EXIT_OK;
}

int cmd_put(int argc, char **argv)
{
	static const struct data_command c = {
		.argp = { .options = put_options, .parser = parse_data, .args_doc = "DEV OFFSET",
			  .doc = "Writes standard input, of any length, to the namespace." },
		.min = 1, .max = 1, .names = { "OFFSET" }, .flags = O_WRONLY, .run = do_put,
	};

	return run_data(&c, argc, argv);
}

int cmd_get(int argc, char **argv)
{
	static const struct data_command c = {
		.argp = { .options = get_options, .parser = parse_data,
			  .args_doc = "DEV OFFSET LEN",
			  .doc = "Writes a range of the namespace to standard output." },
		.min = 2, .max = 2, .names = { "OFFSET", "LEN" }, .flags = O_RDONLY,
		.run = do_get,
	};

	return run_data(&c, argc, argv);
}

int cmd_persist(int argc, char **argv)
{
	static const struct data_command c = {
		.argp = { .parser = parse_data, .args_doc = "DEV [OFFSET LEN]",
			  .doc = "Makes the puts to a range (default all) that completed before, "
				 "by whichever process, durable." },
		.min = 0, .max = 2, .names = { "OFFSET", "LEN" }, .flags = O_RDONLY,
		.run = do_persist,
	};

	return run_data(&c, argc, argv);
}

int cmd_cas(int argc, char **argv)
{
	static const struct data_command c = {
		.argp = { .options = atomic_options, .parser = parse_data,
			  .args_doc = "DEV OFFSET EXPECT NEW",
			  .doc = "Compares the 8-byte word at OFFSET with EXPECT and, if they are "
				 "equal, stores NEW. Prints the value before and whether it "
				 "stored. Exit status 0: stored, 1: not stored." },
		.min = 3, .max = 3, .words = 6, .names = { "OFFSET", "EXPECT", "NEW" },
		.flags = O_RDWR, .run = do_cas,
	};

	return run_data(&c, argc, argv);
}

int cmd_fetch_add(int argc, char **argv)
{
	static const struct data_command c = {
		.argp = { .options = atomic_options, .parser = parse_data,
			  .args_doc = "DEV OFFSET N",
			  .doc = "Adds N to the 8-byte word at OFFSET and prints the value before. "
				 "A negative N stands behind --." },
		.min = 2, .max = 2, .words = 2, .names = { "OFFSET", "N" }, .flags = O_RDWR,
		.run = do_fetch_add,
	};

	return run_data(&c, argc, argv);
}
