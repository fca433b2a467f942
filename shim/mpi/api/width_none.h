/* SPDX-License-Identifier: BSD-3-Clause */
/* Behind width_int.h or width_large.h. */
#undef COUNT
#undef DISPL
#undef WRAP_
#undef WRAP
#undef NATIVE_
#undef NATIVE
#undef LIBRARY_
#undef LIBRARY
#undef WIDTH
