/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels as the driver loads them, embedded; 0 bytes in a build without nvcc. */
    .section .rodata
    .globl collshim_cuda_image, collshim_cuda_image_bytes
    .hidden collshim_cuda_image, collshim_cuda_image_bytes
    .balign 16
    .type collshim_cuda_image, %object
collshim_cuda_image:
#ifdef CUDA_IMAGE
    .incbin CUDA_IMAGE
#endif
.Lend:
    .size collshim_cuda_image, .Lend - collshim_cuda_image
    .balign 8
    .type collshim_cuda_image_bytes, %object
collshim_cuda_image_bytes:
    .quad .Lend - collshim_cuda_image
    .size collshim_cuda_image_bytes, 8
    .section .note.GNU-stack, "", %progbits
