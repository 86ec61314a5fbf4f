// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A decoder for just the instructions that the model knows. Bytes behind the end read as zero:
 * QEMU hands over whole instructions, and a zero never makes one of the known ones.
 */
#include <string.h>

#include "insn.h"

struct decoder {
	const uint8_t *code;
	size_t len;
	size_t at;
	uint8_t simd;		/* 0x66, 0xf2 or 0xf3: the prefix that selects the opcode */
	uint8_t segment;
	uint8_t rex;
	bool lock;
	bool addr32;
	uint8_t map;		/* 0: one-byte opcodes, 1: 0f, 2: 0f 38 */
	uint8_t opcode;
	uint8_t modrm;
};

static uint8_t peek(const struct decoder *d, size_t offset)
{
	return d->at + offset < d->len ? d->code[d->at + offset] : 0;
}

static uint8_t next(struct decoder *d)
{
	uint8_t byte = peek(d, 0);

	d->at++;
	return byte;
}

static bool legacy_prefix(struct decoder *d, uint8_t byte)
{
	switch (byte) {
	case 0xf0:
		d->lock = true;
		return true;
	case 0x66:
		/* f2 and f3 win over it */
		if (!d->simd)
			d->simd = byte;
		return true;
	case 0xf2:
	case 0xf3:
		d->simd = byte;
		return true;
	case 0x64:
	case 0x65:
		d->segment = byte;
		return true;
	case 0x67:
		d->addr32 = true;
		return true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
		return true;
	}
	return false;
}

/* VEX: the prefix carries REX bits (inverted), opcode map and SIMD prefix. */
static void vex(struct decoder *d, bool three)
{
	static const uint8_t simd[4] = { 0, 0x66, 0xf3, 0xf2 };
	uint8_t first = next(d), last = first;

	d->map = 1;
	d->rex = first & 0x80 ? 0 : 4;
	if (three) {
		d->rex = (~first >> 5) & 7;
		d->map = first & 0x1f;
		last = next(d);
	}
	d->simd = simd[last & 3];
}

static void prefixes(struct decoder *d)
{
	while (legacy_prefix(d, peek(d, 0)))
		d->at++;
	if ((peek(d, 0) & 0xf0) == 0x40)
		d->rex = next(d);
	d->opcode = next(d);
	if (d->opcode == 0xc5 || d->opcode == 0xc4) {
		vex(d, d->opcode == 0xc4);
		d->opcode = next(d);
	} else if (d->opcode == 0x0f) {
		d->map = 1;
		d->opcode = next(d);
		if (d->opcode == 0x38) {
			d->map = 2;
			d->opcode = next(d);
		}
	}
	d->modrm = peek(d, 0);
}

static bool in_memory(const struct decoder *d)
{
	return d->modrm >> 6 != 3;
}

static uint8_t reg_field(const struct decoder *d)
{
	return (d->modrm >> 3) & 7;
}

static int32_t displacement(struct decoder *d, unsigned int bytes)
{
	uint32_t value = 0;
	unsigned int i;

	if (bytes == 1)
		return (int8_t)next(d);
	for (i = 0; i < bytes; i++)
		value |= (uint32_t)next(d) << 8 * i;
	return value;
}

static void sib(struct decoder *d, struct insn_operand *op, uint8_t mod, unsigned int *disp)
{
	uint8_t byte = next(d);
	int index = ((byte >> 3) & 7) | (d->rex & 2) << 2;

	op->scale = byte >> 6;
	op->index = index == 4 ? INSN_NO_REG : index;
	op->base = (byte & 7) | (d->rex & 1) << 3;
	if ((byte & 7) == 5 && !mod) {
		op->base = INSN_NO_REG;
		*disp = 4;
	}
}

static void operand(struct decoder *d, struct insn_operand *op)
{
	uint8_t modrm = next(d), mod = modrm >> 6;
	unsigned int disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	op->segment = d->segment;
	op->addr32 = d->addr32;
	op->index = INSN_NO_REG;
	if ((modrm & 7) == 4) {
		sib(d, op, mod, &disp);
	} else if ((modrm & 7) == 5 && !mod) {
		op->base = INSN_NO_REG;
		op->rip = true;
		disp = 4;
	} else {
		op->base = (modrm & 7) | (d->rex & 1) << 3;
	}
	op->disp = displacement(d, disp);
	op->length = d->at;
}

/* 0f ae: fences with a register operand, write-backs with a memory one. */
static enum insn_kind group15(const struct decoder *d)
{
	uint8_t reg = reg_field(d);

	if (!in_memory(d)) {
		if (!d->simd && (reg == 6 || reg == 7))
			return INSN_FENCE;
		return INSN_OTHER;
	}
	if (reg == 6 && d->simd == 0x66)
		return INSN_WRITE_BACK;
	if (reg == 7 && (!d->simd || d->simd == 0x66))
		return INSN_WRITE_BACK;
	return INSN_OTHER;
}

/* 0f 01: lgdt, lidt, invlpg serialize; 0f 01 with a register is something else. */
static enum insn_kind group7(const struct decoder *d)
{
	uint8_t reg = reg_field(d);

	if (!in_memory(d))
		return INSN_OTHER;
	if (reg == 7)
		return INSN_TLB_FLUSH;
	return reg == 2 || reg == 3 ? INSN_LOCKED : INSN_OTHER;
}

static enum insn_kind two_byte(const struct decoder *d)
{
	switch (d->opcode) {
	case 0xae:
		return group15(d);
	case 0x2b:		/* movntps, movntpd */
	case 0xc3:		/* movnti */
	case 0xe7:		/* movntq, movntdq */
		return in_memory(d) ? INSN_NT_STORE : INSN_OTHER;
	case 0xf7:		/* maskmovq, maskmovdqu */
		return INSN_NT_STORE;
	case 0x01:
		return group7(d);
	case 0x00:		/* lldt, ltr */
		return reg_field(d) == 2 || reg_field(d) == 3 ? INSN_LOCKED : INSN_OTHER;
	case 0x08:
	case 0x09:
		return INSN_WHOLE_CACHE;
	case 0x22:		/* mov to cr; cr3 leaves the kernel's translations alone */
		return reg_field(d) == 3 ? INSN_LOCKED : INSN_TLB_FLUSH;
	case 0x23:		/* mov to dr */
	case 0x30:		/* wrmsr */
	case 0xa2:		/* cpuid */
	case 0xaa:		/* rsm */
		return INSN_LOCKED;
	}
	return INSN_OTHER;
}

/* mov to [rsp + disp], push, call: nobody has a stack in persistent memory. */
static bool stack_store(const struct decoder *d)
{
	bool rsp = in_memory(d) && (d->modrm & 7) == 4 && (peek(d, 1) & 0x3f) == 0x24;

	switch (d->opcode) {
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
	case 0xe8:
		return true;
	case 0x88:
	case 0x89:
	case 0xc6:
	case 0xc7:
		return rsp && !(d->rex & 3);
	case 0xff:		/* call, push; inc and dec are 0 and 1 */
		return reg_field(d) == 2 || reg_field(d) == 6;
	}
	return false;
}

static enum insn_kind one_byte(const struct decoder *d)
{
	switch (d->opcode) {
	case 0x86:
	case 0x87:		/* xchg with memory locks by itself */
		return in_memory(d) ? INSN_LOCKED : INSN_OTHER;
	case 0xcf:		/* iret */
		return INSN_LOCKED;
	}
	return stack_store(d) ? INSN_STACK : INSN_OTHER;
}

static bool cmpxchg(const struct decoder *d)
{
	return d->map == 1 && (d->opcode == 0xb0 || d->opcode == 0xb1 ||
			       (d->opcode == 0xc7 && reg_field(d) == 1));
}

static enum insn_kind classify(const struct decoder *d)
{
	if (d->lock)
		return cmpxchg(d) ? INSN_LOCKED_CMPXCHG : INSN_LOCKED;
	if (d->map == 1)
		return two_byte(d);
	if (d->map == 0)
		return one_byte(d);
	if (d->map == 2 && d->opcode == 0x82)	/* invpcid */
		return INSN_TLB_FLUSH;
	return INSN_OTHER;
}

/* 0f 1f 80 id id 4d 50 */
static bool magic(const uint8_t *code, size_t len)
{
	return len == 7 && !memcmp(code, "\x0f\x1f\x80", 3) && code[5] == 0x4d && code[6] == 0x50;
}

void insn_decode(struct insn *insn, const uint8_t *code, size_t len)
{
	struct decoder d = { .code = code, .len = len };

	memset(insn, 0, sizeof(*insn));
	if (magic(code, len)) {
		insn->kind = INSN_MARK;
		insn->mark = code[3] | code[4] << 8;
		return;
	}
	prefixes(&d);
	insn->kind = classify(&d);
	if (insn->kind == INSN_WRITE_BACK)
		operand(&d, &insn->operand);
}
