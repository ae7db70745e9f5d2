! Fortran 2008 interface to libgsofa: the functions of gsofa/gsofa.h by their names, and helpers for
! what Fortran has otherwise. gsofa.h says what each function does.
!
! Indices of the library are 0-based; gsofa_analyze_rows takes 1-based ones, all results are 0-based.
! Compile this file with the program: files of modules differ between compilers.

module gsofa
  use, intrinsic :: iso_c_binding
  implicit none
  public

  ! gsofa_status
  integer(c_int), parameter :: GSOFA_OK = 0, GSOFA_INVALID_INPUT = 1, GSOFA_UNAVAILABLE = 2, &
    GSOFA_OUT_OF_MEMORY = 3, GSOFA_INTERNAL_ERROR = 4, GSOFA_OVERFLOW = 5, GSOFA_CANCELLED = 6
  ! gsofa_device
  integer(c_int), parameter :: GSOFA_AUTOMATIC = 0, GSOFA_CPU = 1, GSOFA_GPU = 2
  ! gsofa_order
  integer(c_int), parameter :: GSOFA_ORDER_AUTOMATIC = 0, GSOFA_ORDER_METIS = 1, &
    GSOFA_ORDER_AMD = 2, GSOFA_ORDER_COLAMD = 3, GSOFA_ORDER_NATURAL = 4, GSOFA_ORDER_GIVEN = 5, &
    GSOFA_ORDER_NESTED_DISSECTION = 6, GSOFA_ORDER_BEST_OF = 7, &
    GSOFA_ORDER_GPU_NESTED_DISSECTION = 8
  ! gsofa_index_type
  integer(c_int), parameter :: GSOFA_INDEX_64_32 = 0, GSOFA_INDEX_32_32 = 1, GSOFA_INDEX_64_64 = 2
  ! gsofa_format
  integer(c_int), parameter :: GSOFA_CSR = 0, GSOFA_CSC = 1
  ! gsofa_stage
  integer(c_int), parameter :: GSOFA_STAGE_CHECK = 0, GSOFA_STAGE_MATCH = 1, &
    GSOFA_STAGE_ORDER = 2, GSOFA_STAGE_PERMUTE = 3, GSOFA_STAGE_ANALYZE = 4, GSOFA_STAGE_OUTPUT = 5

  type, bind(c) :: gsofa_pattern
    integer(c_int64_t) :: n = 0
    type(c_ptr) :: pointers = c_null_ptr
    type(c_ptr) :: indices = c_null_ptr
    integer(c_int) :: index_type = GSOFA_INDEX_64_32
    integer(c_int) :: format = GSOFA_CSR
  end type

  type, bind(c) :: gsofa_options
    integer(c_size_t) :: size
    integer(c_int) :: device
    integer(c_int) :: order
    type(c_ptr) :: variant
    type(c_ptr) :: permutation
    integer(c_int64_t) :: memory_budget_mb
    integer(c_int) :: threads
    integer(c_int) :: match
    integer(c_int) :: factors
    integer(c_int) :: supernodes
    integer(c_int32_t) :: chunk_size
    integer(c_int) :: factor_columns
    type(c_funptr) :: progress
    type(c_funptr) :: log
    type(c_ptr) :: user
    real(c_double) :: progress_seconds
    integer(c_int) :: supernodal
    integer(c_int32_t) :: most_columns
    integer(c_int32_t) :: relax
    type(c_funptr) :: device_memory
    type(c_ptr) :: device_stream
    integer(c_int) :: tree
    integer(c_int32_t) :: relaxed_count
    type(c_ptr) :: relaxed              ! array of gsofa_range
    integer(c_int) :: masks
  end type

  type, bind(c) :: gsofa_range
    integer(c_int32_t) :: begin
    integer(c_int32_t) :: end
  end type

  type, bind(c) :: gsofa_fill_estimate
    integer(c_int64_t) :: nnz_a
    integer(c_int64_t) :: nnz_l
    integer(c_int64_t) :: nnz_u
    real(c_double) :: flops
    integer(c_int64_t) :: result_bytes
    integer(c_int64_t) :: working_bytes
    integer(c_int) :: symmetric
  end type

  type, bind(c) :: gsofa_device_pattern
    integer(c_int64_t) :: n = 0
    integer(c_int64_t) :: nnz = 0
    type(c_ptr) :: pointers = c_null_ptr
    type(c_ptr) :: indices = c_null_ptr
    integer(c_int) :: index_type = GSOFA_INDEX_64_32
    type(c_ptr) :: stream = c_null_ptr
  end type

  type, bind(c) :: gsofa_supernodal_view
    integer(c_int32_t) :: supernodes
    type(c_ptr) :: first_column
    type(c_ptr) :: row_begin
    type(c_ptr) :: rows
    type(c_ptr) :: segment_begin
    type(c_ptr) :: segments
  end type

  type, bind(c) :: gsofa_masks_view
    integer(c_int32_t) :: panels
    type(c_ptr) :: first_vertex
    type(c_ptr) :: position_begin
    type(c_ptr) :: vertices
    type(c_ptr) :: masks
  end type

  type, bind(c) :: gsofa_variant
    type(c_ptr) :: name
    type(c_ptr) :: device
    type(c_ptr) :: summary
    type(c_ptr) :: unavailable
  end type

  interface
    subroutine gsofa_options_init_sized(options, size) bind(c)
      import :: gsofa_options, c_size_t
      type(gsofa_options), intent(out) :: options
      integer(c_size_t), value :: size
    end subroutine

    integer(c_int) function gsofa_analyze_pattern(a, options, out) bind(c)
      import :: gsofa_pattern, gsofa_options, c_ptr, c_int
      type(gsofa_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(out) :: out
    end function

    integer(c_int) function gsofa_analyze_batch(patterns, count, options, out) bind(c)
      import :: gsofa_pattern, gsofa_options, c_ptr, c_int, c_size_t
      type(gsofa_pattern), intent(in) :: patterns(*)
      integer(c_size_t), value :: count
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(out) :: out(*)
    end function

    integer(c_int) function gsofa_analyze_device(a, options, out) bind(c)
      import :: gsofa_device_pattern, gsofa_options, c_ptr, c_int
      type(gsofa_device_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(out) :: out
    end function

    integer(c_int) function gsofa_analyzer_create(out) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), intent(out) :: out
    end function
    subroutine gsofa_analyzer_free(by) bind(c)
      import :: c_ptr
      type(c_ptr), value :: by
    end subroutine
    integer(c_int) function gsofa_analyzer_start(by, a, options) bind(c)
      import :: gsofa_pattern, gsofa_options, c_ptr, c_int
      type(c_ptr), value :: by
      type(gsofa_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
    end function
    integer(c_int) function gsofa_analyzer_start_device(by, a, options) bind(c)
      import :: gsofa_device_pattern, gsofa_options, c_ptr, c_int
      type(c_ptr), value :: by
      type(gsofa_device_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
    end function
    integer(c_int) function gsofa_analyzer_ready(by) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: by
    end function
    subroutine gsofa_analyzer_cancel(by) bind(c)
      import :: c_ptr
      type(c_ptr), value :: by
    end subroutine
    integer(c_int) function gsofa_analyzer_wait(by, out) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: by
      type(c_ptr), intent(out) :: out
    end function

    subroutine gsofa_free(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end subroutine

    type(c_ptr) function gsofa_last_error() bind(c)
      import :: c_ptr
    end function

    integer(c_int32_t) function gsofa_n(a) bind(c)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: a
    end function
    integer(c_int64_t) function gsofa_nnz_l(a) bind(c)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: a
    end function
    integer(c_int64_t) function gsofa_nnz_u(a) bind(c)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: a
    end function
    integer(c_int64_t) function gsofa_nnz_a(a) bind(c)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: a
    end function
    integer(c_int32_t) function gsofa_diagonal_added(a) bind(c)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: a
    end function

    type(c_ptr) function gsofa_row_order(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end function
    type(c_ptr) function gsofa_col_order(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end function
    type(c_ptr) function gsofa_l_row_counts(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end function
    type(c_ptr) function gsofa_u_row_counts(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end function
    type(c_ptr) function gsofa_variant_name(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end function
    type(c_ptr) function gsofa_order_name(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end function
    type(c_ptr) function gsofa_fallback(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end function

    integer(c_int) function gsofa_l(a, row_ptr, col_idx) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: a
      type(c_ptr), intent(out) :: row_ptr, col_idx
    end function
    integer(c_int) function gsofa_u(a, row_ptr, col_idx) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: a
      type(c_ptr), intent(out) :: row_ptr, col_idx
    end function
    integer(c_int) function gsofa_l_columns(a, col_ptr, row_idx) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: a
      type(c_ptr), intent(out) :: col_ptr, row_idx
    end function
    integer(c_int) function gsofa_u_columns(a, col_ptr, row_idx) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: a
      type(c_ptr), intent(out) :: col_ptr, row_idx
    end function
    integer(c_int) function gsofa_copy_l(a, format, index_type, pointers, indices) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: a, pointers, indices
      integer(c_int), value :: format, index_type
    end function
    integer(c_int) function gsofa_copy_u(a, format, index_type, pointers, indices) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: a, pointers, indices
      integer(c_int), value :: format, index_type
    end function
    integer(c_int) function gsofa_supernodes(a, starts, count) bind(c)
      import :: c_ptr, c_int, c_int32_t
      type(c_ptr), value :: a
      type(c_ptr), intent(out) :: starts
      integer(c_int32_t), intent(out) :: count
    end function

    integer(c_int) function gsofa_supernodal(a, out) bind(c)
      import :: gsofa_supernodal_view, c_ptr, c_int
      type(c_ptr), value :: a
      type(gsofa_supernodal_view), intent(out) :: out
    end function

    integer(c_int) function gsofa_device_l(a, out) bind(c)
      import :: gsofa_device_pattern, c_ptr, c_int
      type(c_ptr), value :: a
      type(gsofa_device_pattern), intent(out) :: out
    end function
    integer(c_int) function gsofa_device_u(a, out) bind(c)
      import :: gsofa_device_pattern, c_ptr, c_int
      type(c_ptr), value :: a
      type(gsofa_device_pattern), intent(out) :: out
    end function
    integer(c_int) function gsofa_device_supernodal(a, out) bind(c)
      import :: gsofa_supernodal_view, c_ptr, c_int
      type(c_ptr), value :: a
      type(gsofa_supernodal_view), intent(out) :: out
    end function

    integer(c_int) function gsofa_masks(a, out) bind(c)
      import :: gsofa_masks_view, c_ptr, c_int
      type(c_ptr), value :: a
      type(gsofa_masks_view), intent(out) :: out
    end function

    type(c_ptr) function gsofa_parent(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end function
    type(c_ptr) function gsofa_l_col_counts(a) bind(c)
      import :: c_ptr
      type(c_ptr), value :: a
    end function
    real(c_double) function gsofa_flops(a) bind(c)
      import :: c_ptr, c_double
      type(c_ptr), value :: a
    end function

    real(c_double) function gsofa_order_seconds(a) bind(c)
      import :: c_ptr, c_double
      type(c_ptr), value :: a
    end function
    real(c_double) function gsofa_setup_seconds(a) bind(c)
      import :: c_ptr, c_double
      type(c_ptr), value :: a
    end function
    real(c_double) function gsofa_analysis_seconds(a) bind(c)
      import :: c_ptr, c_double
      type(c_ptr), value :: a
    end function
    real(c_double) function gsofa_output_seconds(a) bind(c)
      import :: c_ptr, c_double
      type(c_ptr), value :: a
    end function

    ! file: with c_null_char at its end
    integer(c_int) function gsofa_read_pattern(file, out) bind(c)
      import :: gsofa_pattern, c_int, c_char
      character(kind=c_char), intent(in) :: file(*)
      type(gsofa_pattern), intent(out) :: out
    end function
    subroutine gsofa_pattern_free(a) bind(c)
      import :: gsofa_pattern
      type(gsofa_pattern), intent(inout) :: a
    end subroutine

    integer(c_int) function gsofa_elimination_tree(a, parent) bind(c)
      import :: gsofa_pattern, c_int, c_int32_t
      type(gsofa_pattern), intent(in) :: a
      integer(c_int32_t), intent(out) :: parent(*)
    end function

    integer(c_int) function gsofa_level_sets(n, parent, begin, vertices, levels) bind(c)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: n
      integer(c_int32_t), intent(in) :: parent(*)
      integer(c_int32_t), intent(inout) :: begin(*), vertices(*)
      integer(c_int32_t), intent(out) :: levels
    end function
    integer(c_int) function gsofa_tree_postorder(n, parent, order) bind(c)
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: n
      integer(c_int32_t), intent(in) :: parent(*)
      integer(c_int32_t), intent(inout) :: order(*)
    end function
    integer(c_int) function gsofa_relaxed_supernodes(n, parent, relax, ranges, count) bind(c)
      import :: gsofa_range, c_int, c_int32_t
      integer(c_int32_t), value :: n, relax
      integer(c_int32_t), intent(in) :: parent(*)
      type(gsofa_range), intent(inout) :: ranges(*)
      integer(c_int32_t), intent(out) :: count
    end function

    integer(c_int) function gsofa_estimate(a, options, out, permutation) bind(c)
      import :: gsofa_pattern, gsofa_options, gsofa_fill_estimate, c_int, c_ptr
      type(gsofa_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(gsofa_fill_estimate), intent(out) :: out
      type(c_ptr), value :: permutation  ! n integers of 32 bits, or c_null_ptr
    end function

    integer(c_int) function gsofa_profile_pattern(a, cells, threads, out) bind(c)
      import :: gsofa_pattern, c_int, c_int32_t, c_ptr
      type(gsofa_pattern), intent(in) :: a
      integer(c_int32_t), value :: cells
      integer(c_int), value :: threads
      type(c_ptr), intent(out) :: out
    end function
    subroutine gsofa_profile_free(p) bind(c)
      import :: c_ptr
      type(c_ptr), value :: p
    end subroutine
    type(c_ptr) function gsofa_profile_parent(p) bind(c)
      import :: c_ptr
      type(c_ptr), value :: p
    end function
    type(c_ptr) function gsofa_profile_l_col_counts(p) bind(c)
      import :: c_ptr
      type(c_ptr), value :: p
    end function
    type(c_ptr) function gsofa_profile_u_row_counts(p) bind(c)
      import :: c_ptr
      type(c_ptr), value :: p
    end function
    real(c_double) function gsofa_profile_flops(p) bind(c)
      import :: c_ptr, c_double
      type(c_ptr), value :: p
    end function
    integer(c_int32_t) function gsofa_profile_cells(p) bind(c)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: p
    end function
    type(c_ptr) function gsofa_profile_density(p) bind(c)
      import :: c_ptr
      type(c_ptr), value :: p
    end function

    integer(c_int) function gsofa_variants(variants, count) bind(c)
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), intent(out) :: variants  ! array of gsofa_variant
      integer(c_int32_t), intent(out) :: count
    end function

    integer(c_int) function gsofa_has_metis() bind(c)
      import :: c_int
    end function
    type(c_ptr) function gsofa_version() bind(c)
      import :: c_ptr
    end function

    integer(c_size_t) function gsofa_c_strlen(text) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! Defaults, as gsofa_options_init() of C.
  subroutine gsofa_options_init(options)
    type(gsofa_options), intent(out) :: options
    call gsofa_options_init_sized(options, c_sizeof(options))
  end subroutine

  ! Analyses a square pattern of order size(row_ptr) - 1 in compressed rows with 1-based row pointers
  ! and columns. The status is that of gsofa_analyze_pattern(); messages name 0-based rows.
  integer(c_int) function gsofa_analyze_rows(row_ptr, col_idx, options, out) result(status)
    integer(c_int64_t), intent(in) :: row_ptr(:)
    integer(c_int32_t), intent(in) :: col_idx(:)
    type(gsofa_options), intent(in) :: options
    type(c_ptr), intent(out) :: out
    integer(c_int64_t), allocatable, target :: pointers(:)
    integer(c_int32_t), allocatable, target :: indices(:)
    type(gsofa_pattern) :: a
    out = c_null_ptr
    allocate(pointers(max(1, size(row_ptr))), indices(max(1, size(col_idx))))
    pointers(1:size(row_ptr)) = row_ptr - 1
    indices(1:size(col_idx)) = col_idx - 1
    a%n = size(row_ptr, kind=c_int64_t) - 1
    a%pointers = c_loc(pointers)
    a%indices = c_loc(indices)
    if (size(row_ptr) > 0) then
      ! The library reads as many columns as the last pointer says.
      if (pointers(size(row_ptr)) > size(col_idx)) a%indices = c_null_ptr
    end if
    status = gsofa_analyze_pattern(a, options, out)
  end function

  ! A text of the library; empty for a null pointer.
  function gsofa_text(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i, length
    length = 0
    if (c_associated(pointer)) length = int(gsofa_c_strlen(pointer))
    allocate(character(len=length) :: text)
    if (length == 0) return
    call c_f_pointer(pointer, characters, [length])
    do i = 1, length
      text(i:i) = characters(i)
    end do
  end function

  ! An array that the library owns, of 32-bit numbers.
  function gsofa_int32s(pointer, count) result(array)
    type(c_ptr), intent(in) :: pointer
    integer(c_int64_t), intent(in) :: count
    integer(c_int32_t), pointer :: array(:)
    call c_f_pointer(pointer, array, [count])
  end function

  ! An array that the library owns, of 64-bit numbers.
  function gsofa_int64s(pointer, count) result(array)
    type(c_ptr), intent(in) :: pointer
    integer(c_int64_t), intent(in) :: count
    integer(c_int64_t), pointer :: array(:)
    call c_f_pointer(pointer, array, [count])
  end function

end module gsofa
