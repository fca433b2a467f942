/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jumps that keep arguments and return address, which C cannot express.
 *
 * ncclX jumps through its slot. A slot that holds nccl_first_X asks nccl_first_call() for the
 * function, with the slot's address and the caller's: until the first call, and for as long as it
 * depends on the caller. Not the C stubs of the MPI side, because ncclCommInitRank takes a struct
 * by value.
 *
 * dlsym returns the result of dlsym_substitute(). If that is NULL, it jumps to the real dlsym. The
 * real one needs the original return address, from which it searches RTLD_NEXT.
 */
#if defined(__x86_64__)

#define NCCL_WRAP(need, name, parameters, arguments) \
	.globl nccl##name; .type nccl##name, @function; \
nccl##name: endbr64; jmp *nccl_slot_##name(%rip); \
	.size nccl##name, . - nccl##name; \
nccl_first_##name: lea nccl_slot_##name(%rip), %rax; jmp first_call;

	.text
#include "transports/net/nccl_calls.def"

first_call:
	push %rdi; push %rsi; push %rdx; push %rcx; push %r8; push %r9; push %rax
	mov %rax, %rdi
	mov 56(%rsp), %rsi
	call nccl_first_call
	mov %rax, %r11
	pop %rax; pop %r9; pop %r8; pop %rcx; pop %rdx; pop %rsi; pop %rdi
	jmp *%r11

	.globl dlsym; .type dlsym, @function
dlsym:
	endbr64
	push %rdi; push %rsi; sub $8, %rsp
	call dlsym_substitute
	add $8, %rsp; pop %rsi; pop %rdi
	test %rax, %rax
	jz 1f
	ret
1:	jmp *dlsym_real(%rip)
	.size dlsym, . - dlsym

#elif defined(__aarch64__)

#define NCCL_WRAP(need, name, parameters, arguments) \
	.globl nccl##name; .type nccl##name, %function; \
nccl##name: adrp x16, nccl_slot_##name; add x16, x16, :lo12:nccl_slot_##name; ldar x16, [x16]; br x16; \
	.size nccl##name, . - nccl##name; \
nccl_first_##name: adrp x16, nccl_slot_##name; add x16, x16, :lo12:nccl_slot_##name; b first_call;

	.text
#include "transports/net/nccl_calls.def"

first_call:
	stp x29, x30, [sp, #-96]!
	mov x29, sp
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	str x8, [sp, #80]
	mov x0, x16
	mov x1, x30
	bl nccl_first_call
	mov x16, x0
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x8, [sp, #80]
	ldp x29, x30, [sp], #96
	br x16

	.globl dlsym; .type dlsym, %function
dlsym:
	stp x29, x30, [sp, #-32]!
	mov x29, sp
	stp x0, x1, [sp, #16]
	bl dlsym_substitute
	cbz x0, 1f
	ldp x29, x30, [sp], #32
	ret
1:	ldp x0, x1, [sp, #16]
	ldp x29, x30, [sp], #32
	adrp x16, dlsym_real
	ldr x16, [x16, :lo12:dlsym_real]
	br x16
	.size dlsym, . - dlsym

#else
#error "jumps.S has no code for this processor yet: ncclX, first_call and dlsym"
#endif

	.hidden dlsym_substitute
	.hidden dlsym_real
	.hidden nccl_first_call

	.data
	.balign 8
	.globl nccl_slots; .hidden nccl_slots
nccl_slots:
#define NCCL_WRAP(need, name, parameters, arguments) nccl_slot_##name: .quad nccl_first_##name;
#include "transports/net/nccl_calls.def"

	.section .note.GNU-stack, "", %progbits
