/* SPDX-License-Identifier: BSD-3-Clause */
/* Behind width_int.h or width_large.h. */
#undef COUNT
#undef DISPL
#undef NAMED_
#undef NAMED
#undef WIDTH
