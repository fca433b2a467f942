/* SPDX-License-Identifier: BSD-3-Clause */
/* page.html, embedded. */
    .section .rodata
    .globl page_template, page_template_end
    .hidden page_template, page_template_end
    .type page_template, %object
page_template:
    .incbin "shim/cli/page/page.html"
page_template_end:
    .size page_template, page_template_end - page_template
    .section .note.GNU-stack, "", %progbits
