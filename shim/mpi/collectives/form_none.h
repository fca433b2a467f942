/* SPDX-License-Identifier: BSD-3-Clause */
/* Behind form_blocking.h, form_nonblocking.h or form_persistent.h. */
#undef FORM
#undef FORM_PARAMETERS
#undef FORM_ARGUMENTS
#undef FORM_GIVEN
#undef FORM_SMALL
#undef FORM_PASSES
#undef FORM_HERE
#undef FORM_FINISH
