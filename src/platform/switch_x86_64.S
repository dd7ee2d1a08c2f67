/* SPDX-License-Identifier: MIT
 *
 * switch_x86_64.S: the context switch for the System V ABI of x86-64.
 *
 * What the ABI lets a function change is saved by the compiler around the
 * call; the rest is pushed here, and the stack pointer says where:
 *
 *     sp -> | mxcsr, x87 control | r15 | r14 | r13 | r12 | rbx | rbp | return
 *             0                    8     16    24    32    40    48    56
 *
 * The status flags of mxcsr travel with its control bits; the ABI lets them
 * change in any call.
 */
#define FRAME 64

    .text

/*
 * hi_context *hi_switch(hi_context *from, hi_context *to)
 *
 * sp is the first member of both.  Returns, on the other stack, the context
 * it came from.
 */
    .globl  hi_switch
    .hidden hi_switch
    .type   hi_switch, @function
    .p2align 4
hi_switch:
    .cfi_startproc
    endbr64
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    pushq   %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbx, 0
    pushq   %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r12, 0
    pushq   %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r13, 0
    pushq   %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r14, 0
    pushq   %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r15, 0
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    stmxcsr (%rsp)
    fnstcw  4(%rsp)

    /* Both stacks have the same shape here, so the same unwind rows hold. */
    movq    %rsp, (%rdi)
    movq    (%rsi), %rsp
    movq    %rdi, %rax

    ldmxcsr (%rsp)
    fldcw   4(%rsp)
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq    %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore r15
    popq    %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore r14
    popq    %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore r13
    popq    %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore r12
    popq    %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbx
    popq    %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbp
    ret
    .cfi_endproc
    .size   hi_switch, . - hi_switch

/*
 * The outermost frame of a fresh stack: no return address and a zero frame
 * pointer, so that every kind of backtrace ends here.
 */
    .type   switch_start, @function
    .p2align 4
switch_start:
    .cfi_startproc
    .cfi_undefined rip
    movq    %r12, %rdi              /* entry */
    movq    %r13, %rsi              /* arg */
    movq    %rax, %rdx              /* the context we came from */
    call    hi_context_begin
    ud2                             /* entry does not return */
    .cfi_endproc
    .size   switch_start, . - switch_start

/*
 * void *hi_switch_make(void *top, void (*entry)(void *), void *arg)
 *
 * Builds the frame that hi_switch will leave through; returns its sp.  The
 * floating-point modes are the caller's, as those of a new thread would be.
 * Sixteen zero bytes stay above, for readers that look past the last frame.
 */
    .globl  hi_switch_make
    .hidden hi_switch_make
    .type   hi_switch_make, @function
    .p2align 4
hi_switch_make:
    .cfi_startproc
    endbr64
    andq    $-16, %rdi
    leaq    -(FRAME + 16)(%rdi), %rax
    leaq    switch_start(%rip), %r8
    xorl    %ecx, %ecx
    movq    %rcx, (%rax)
    stmxcsr (%rax)
    fnstcw  4(%rax)
    movq    %rcx, 8(%rax)
    movq    %rcx, 16(%rax)
    movq    %rdx, 24(%rax)
    movq    %rsi, 32(%rax)
    movq    %rcx, 40(%rax)
    movq    %rcx, 48(%rax)
    movq    %r8, 56(%rax)
    movq    %rcx, 64(%rax)
    movq    %rcx, 72(%rax)
    ret
    .cfi_endproc
    .size   hi_switch_make, . - hi_switch_make

    .hidden hi_context_begin

/*
 * Indirect branch tracking holds here.  A shadow stack does not: it would have
 * to be switched as well, so this file does not claim it, and the linker then
 * leaves it off for the program.
 */
    .section .note.gnu.property, "a"
    .p2align 3
    .long   4, 16, 5                /* name, descriptor, GNU_PROPERTY_TYPE_0 */
    .asciz  "GNU"
    .long   0xc0000002, 4, 1, 0     /* X86_FEATURE_1_AND: IBT */

    .section .note.GNU-stack, "", @progbits
