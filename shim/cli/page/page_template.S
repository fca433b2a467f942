/* SPDX-License-Identifier: BSD-3-Clause */
/* page.html, embedded. */
    .section .rodata
    .globl page_template, page_template_bytes
    .hidden page_template, page_template_bytes
    .type page_template, %object
page_template:
    .incbin "shim/cli/page/page.html"
.Lend:
    .size page_template, .Lend - page_template
    .balign 8
    .type page_template_bytes, %object
page_template_bytes:
    .quad .Lend - page_template
    .size page_template_bytes, 8
    .section .note.GNU-stack, "", %progbits
