! Fortran 2008 interface to libgsofa: the constants, types and functions of gsofa/gsofa.h by their names, which
! says what each of them does, and helpers for Fortran.
!
! The library's indices are 0-based: gsofa_analyze_rows takes 1-based ones, all results are 0-based. Arguments
! `options` are required: gsofa_options_init() sets defaults. Texts for the library end with c_null_char.
! Compile this file with the program: module files differ between compilers.

module gsofa
  use, intrinsic :: iso_c_binding
  implicit none
  public

  ! generate.py: begin
  ! gsofa_status
  integer(c_int), parameter :: GSOFA_OK = 0, GSOFA_INVALID_INPUT = 1, GSOFA_UNAVAILABLE = 2, &
    GSOFA_OUT_OF_MEMORY = 3, GSOFA_INTERNAL_ERROR = 4, GSOFA_OVERFLOW = 5, GSOFA_CANCELLED = 6
  ! gsofa_device
  integer(c_int), parameter :: GSOFA_AUTOMATIC = 0, GSOFA_CPU = 1, GSOFA_GPU = 2
  ! gsofa_order
  integer(c_int), parameter :: GSOFA_ORDER_AUTOMATIC = 0, GSOFA_ORDER_METIS = 1, &
    GSOFA_ORDER_AMD = 2, GSOFA_ORDER_COLAMD = 3, GSOFA_ORDER_NATURAL = 4, GSOFA_ORDER_GIVEN = 5, &
    GSOFA_ORDER_CPU_NESTED_DISSECTION = 6, GSOFA_ORDER_TOURNAMENT = 7, &
    GSOFA_ORDER_GPU_NESTED_DISSECTION = 8, GSOFA_ORDER_AMF = 9
  ! gsofa_index_type
  integer(c_int), parameter :: GSOFA_INDEX_64_32 = 0, GSOFA_INDEX_32_32 = 1, GSOFA_INDEX_64_64 = 2
  ! gsofa_format
  integer(c_int), parameter :: GSOFA_CSR = 0, GSOFA_CSC = 1
  ! gsofa_triangle
  integer(c_int), parameter :: GSOFA_BOTH_TRIANGLES = 0, GSOFA_LOWER_TRIANGLE = 1, &
    GSOFA_UPPER_TRIANGLE = 2
  ! gsofa_factorization
  integer(c_int), parameter :: GSOFA_FACTORIZATION_AUTOMATIC = 0, &
    GSOFA_FACTORIZATION_LEFT_LOOKING = 1, GSOFA_FACTORIZATION_SUPERNODAL = 2, &
    GSOFA_FACTORIZATION_GPU = 3, GSOFA_FACTORIZATION_DISTRIBUTED = 4
  ! gsofa_stage
  integer(c_int), parameter :: GSOFA_STAGE_CHECK = 0, GSOFA_STAGE_MATCH = 1, GSOFA_STAGE_ORDER = 2, &
    GSOFA_STAGE_PERMUTE = 3, GSOFA_STAGE_ANALYZE = 4, GSOFA_STAGE_OUTPUT = 5
  ! gsofa_order_change
  integer(c_int), parameter :: GSOFA_NEW_ORDER = 0, GSOFA_ORDER_KEPT = 1, GSOFA_ORDER_MOVED = 2
  ! gsofa_tree_layout
  integer(c_int), parameter :: GSOFA_TREE_BY_LEVEL = 0, GSOFA_TREE_NESTED = 1

  type, bind(c) :: gsofa_pattern
    integer(c_int64_t) :: n = 0
    type(c_ptr) :: pointers = c_null_ptr
    type(c_ptr) :: indices = c_null_ptr
    integer(c_int) :: index_type = 0
    integer(c_int) :: format = 0
  end type

  type, bind(c) :: gsofa_device_pattern
    integer(c_int64_t) :: n = 0
    integer(c_int64_t) :: nnz = 0
    type(c_ptr) :: pointers = c_null_ptr
    type(c_ptr) :: indices = c_null_ptr
    integer(c_int) :: index_type = 0
    type(c_ptr) :: stream = c_null_ptr
  end type

  type, bind(c) :: gsofa_range
    integer(c_int32_t) :: begin = 0
    integer(c_int32_t) :: end = 0
  end type

  type, bind(c) :: gsofa_options
    integer(c_size_t) :: size = 0
    integer(c_int) :: device = 0
    integer(c_int) :: order = 0
    type(c_ptr) :: variant = c_null_ptr
    type(c_ptr) :: permutation = c_null_ptr
    integer(c_int64_t) :: memory_budget_mb = 0
    integer(c_int) :: threads = 0
    integer(c_int) :: match = 0
    integer(c_int) :: factors = 0
    integer(c_int) :: supernodes = 0
    integer(c_int32_t) :: chunk_size = 0
    integer(c_int) :: factor_columns = 0
    type(c_funptr) :: progress = c_null_funptr
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
    real(c_double) :: progress_seconds = 0
    integer(c_int) :: supernodal = 0
    integer(c_int32_t) :: most_columns = 0
    integer(c_int32_t) :: relax = 0
    type(c_funptr) :: device_memory = c_null_funptr
    type(c_ptr) :: device_stream = c_null_ptr
    integer(c_int) :: tree = 0
    integer(c_int32_t) :: relaxed_count = 0
    type(c_ptr) :: relaxed = c_null_ptr
    integer(c_int) :: masks = 0
    integer(c_int) :: symmetric = 0
    integer(c_int) :: first_index = 0
    type(c_ptr) :: order_options = c_null_ptr
    integer(c_int64_t) :: factorizations = 0
    integer(c_int) :: factorization_kind = 0
    integer(c_int) :: factorization_cores = 0
  end type

  type, bind(c) :: gsofa_factor
    type(c_ptr) :: pointers = c_null_ptr
    type(c_ptr) :: indices = c_null_ptr
  end type

  type, bind(c) :: gsofa_supernodal_view
    integer(c_int32_t) :: supernodes = 0
    type(c_ptr) :: first_column = c_null_ptr
    type(c_ptr) :: row_begin = c_null_ptr
    type(c_ptr) :: rows = c_null_ptr
    type(c_ptr) :: segment_begin = c_null_ptr
    type(c_ptr) :: segments = c_null_ptr
  end type

  type, bind(c) :: gsofa_masks_view
    integer(c_int32_t) :: panels = 0
    type(c_ptr) :: first_vertex = c_null_ptr
    type(c_ptr) :: position_begin = c_null_ptr
    type(c_ptr) :: vertices = c_null_ptr
    type(c_ptr) :: masks = c_null_ptr
  end type

  type, bind(c) :: gsofa_result
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: n = 0
    integer(c_int32_t) :: diagonal_added = 0
    integer(c_int64_t) :: nnz_a = 0
    integer(c_int64_t) :: nnz_l = 0
    integer(c_int64_t) :: nnz_u = 0
    type(c_ptr) :: row_order = c_null_ptr
    type(c_ptr) :: col_order = c_null_ptr
    type(c_ptr) :: l_row_counts = c_null_ptr
    type(c_ptr) :: u_row_counts = c_null_ptr
    type(gsofa_factor) :: l
    type(gsofa_factor) :: u
    type(gsofa_factor) :: l_columns
    type(gsofa_factor) :: u_columns
    integer(c_int32_t) :: supernode_count = 0
    type(c_ptr) :: supernode_starts = c_null_ptr
    type(gsofa_supernodal_view) :: supernodal
    type(gsofa_masks_view) :: masks
    type(c_ptr) :: parent = c_null_ptr
    type(c_ptr) :: l_col_counts = c_null_ptr
    real(c_double) :: flops = 0
    type(gsofa_device_pattern) :: device_l
    type(gsofa_device_pattern) :: device_u
    type(gsofa_supernodal_view) :: device_supernodal
    type(c_ptr) :: variant = c_null_ptr
    type(c_ptr) :: order = c_null_ptr
    type(c_ptr) :: fallback = c_null_ptr
    real(c_double) :: order_seconds = 0
    real(c_double) :: setup_seconds = 0
    real(c_double) :: analysis_seconds = 0
    real(c_double) :: output_seconds = 0
    integer(c_int) :: update_kind = 0
    integer(c_int) :: update_compared = 0
    integer(c_int64_t) :: rows_changed = 0
    integer(c_int64_t) :: vertices_moved = 0
    type(c_ptr) :: order_note = c_null_ptr
    type(c_ptr) :: warning = c_null_ptr
  end type

  type, bind(c) :: gsofa_order_options
    integer(c_size_t) :: size = 0
    integer(c_int) :: device = 0
    integer(c_int) :: order = 0
    integer(c_int) :: threads = 0
    integer(c_int) :: tree_levels = 0
    integer(c_int) :: layout = 0
    type(c_ptr) :: permutation = c_null_ptr
    type(c_ptr) :: weights = c_null_ptr
    integer(c_int64_t) :: seed = 0
    type(c_funptr) :: progress = c_null_funptr
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
    real(c_double) :: progress_seconds = 0
    type(c_ptr) :: order_options = c_null_ptr
    integer(c_int64_t) :: factorizations = 0
    integer(c_int) :: factorization_kind = 0
    integer(c_int) :: factorization_cores = 0
    type(c_ptr) :: groups = c_null_ptr
    integer(c_int64_t) :: longest_row = 0
  end type

  type, bind(c) :: gsofa_fill_estimate
    integer(c_int64_t) :: nnz_a = 0
    integer(c_int64_t) :: nnz_l = 0
    integer(c_int64_t) :: nnz_u = 0
    real(c_double) :: flops = 0
    integer(c_int64_t) :: result_bytes = 0
    integer(c_int64_t) :: working_bytes = 0
    integer(c_int) :: symmetric = 0
  end type

  type, bind(c) :: gsofa_profile
    integer(c_int32_t) :: n = 0
    integer(c_int32_t) :: cells = 0
    type(c_ptr) :: parent = c_null_ptr
    type(c_ptr) :: l_col_counts = c_null_ptr
    type(c_ptr) :: u_row_counts = c_null_ptr
    type(c_ptr) :: density = c_null_ptr
    real(c_double) :: flops = 0
  end type

  type, bind(c) :: gsofa_variant
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: device = c_null_ptr
    type(c_ptr) :: summary = c_null_ptr
    type(c_ptr) :: unavailable = c_null_ptr
  end type

  interface
    subroutine gsofa_options_init_sized(options, size) bind(c)
      import
      type(gsofa_options), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    integer(c_int) function gsofa_analyze(n, row_ptr, col_idx, options, out) bind(c)
      import
      integer(c_int32_t), value :: n
      integer(c_int64_t), intent(in) :: row_ptr(*)
      integer(c_int32_t), intent(in) :: col_idx(*)
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function gsofa_analyze_pattern(a, options, out) bind(c)
      import
      type(gsofa_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function gsofa_analyze_device(a, options, out) bind(c)
      import
      type(gsofa_device_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(inout) :: out
    end function
    subroutine gsofa_free(a) bind(c)
      import
      type(c_ptr), value :: a
    end subroutine
    integer(c_int) function gsofa_get_result_sized(a, out, size) bind(c)
      import
      type(c_ptr), value :: a
      type(gsofa_result), intent(inout) :: out
      integer(c_size_t), value :: size
    end function
    type(c_ptr) function gsofa_last_error() bind(c)
      import
    end function
    integer(c_int) function gsofa_analyzer_create(out) bind(c)
      import
      type(c_ptr), intent(inout) :: out
    end function
    subroutine gsofa_analyzer_free(by) bind(c)
      import
      type(c_ptr), value :: by
    end subroutine
    integer(c_int) function gsofa_analyzer_analyze(by, a, options, out) bind(c)
      import
      type(c_ptr), value :: by
      type(gsofa_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function gsofa_analyzer_analyze_device(by, a, options, out) bind(c)
      import
      type(c_ptr), value :: by
      type(gsofa_device_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function gsofa_analyzer_update(by, a, previous, options, out) bind(c)
      import
      type(c_ptr), value :: by, previous
      type(gsofa_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function gsofa_analyzer_update_device(by, a, previous, options, out) bind(c)
      import
      type(c_ptr), value :: by, previous
      type(gsofa_device_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function gsofa_read_pattern(file, out) bind(c)
      import
      character(kind=c_char), intent(in) :: file(*)
      type(gsofa_pattern), intent(inout) :: out
    end function
    subroutine gsofa_pattern_free(a) bind(c)
      import
      type(gsofa_pattern), intent(inout) :: a
    end subroutine
    integer(c_int) function gsofa_elimination_tree(a, parent) bind(c)
      import
      type(gsofa_pattern), intent(in) :: a
      integer(c_int32_t), intent(inout) :: parent(*)
    end function
    integer(c_int) function gsofa_level_sets(n, parent, begin, vertices, levels) bind(c)
      import
      integer(c_int32_t), value :: n
      integer(c_int32_t), intent(in) :: parent(*)
      integer(c_int32_t), intent(inout) :: begin(*), vertices(*), levels
    end function
    integer(c_int) function gsofa_tree_postorder(n, parent, order) bind(c)
      import
      integer(c_int32_t), value :: n
      integer(c_int32_t), intent(in) :: parent(*)
      integer(c_int32_t), intent(inout) :: order(*)
    end function
    integer(c_int) function gsofa_relaxed_supernodes(n, parent, relax, ranges, count) bind(c)
      import
      integer(c_int32_t), value :: n, relax
      integer(c_int32_t), intent(in) :: parent(*)
      type(gsofa_range), intent(inout) :: ranges(*)
      integer(c_int32_t), intent(inout) :: count
    end function
    subroutine gsofa_order_options_init_sized(options, size) bind(c)
      import
      type(gsofa_order_options), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    integer(c_int) function gsofa_order_pattern(a, options, permutation, tree_sizes) bind(c)
      import
      type(gsofa_pattern), intent(in) :: a
      type(gsofa_order_options), intent(in) :: options
      integer(c_int32_t), intent(inout) :: permutation(*)
      type(c_ptr), value :: tree_sizes
    end function
    integer(c_int) function gsofa_order_device(a, options, permutation, tree_sizes) bind(c)
      import
      type(gsofa_device_pattern), intent(in) :: a
      type(gsofa_order_options), intent(in) :: options
      integer(c_int32_t), intent(inout) :: permutation(*)
      type(c_ptr), value :: tree_sizes
    end function
    integer(c_int) function gsofa_estimate(a, options, out, permutation) bind(c)
      import
      type(gsofa_pattern), intent(in) :: a
      type(gsofa_options), intent(in) :: options
      type(gsofa_fill_estimate), intent(inout) :: out
      type(c_ptr), value :: permutation
    end function
    integer(c_int) function gsofa_profile_pattern(a, cells, threads, out) bind(c)
      import
      type(gsofa_pattern), intent(in) :: a
      integer(c_int32_t), value :: cells
      integer(c_int), value :: threads
      type(c_ptr), intent(inout) :: out
    end function
    subroutine gsofa_profile_free(p) bind(c)
      import
      type(gsofa_profile), intent(inout) :: p
    end subroutine
    integer(c_int) function gsofa_variants(variants, count) bind(c)
      import
      type(c_ptr), intent(inout) :: variants
      integer(c_int32_t), intent(inout) :: count
    end function
    integer(c_int) function gsofa_has_metis() bind(c)
      import
    end function
    type(c_ptr) function gsofa_version() bind(c)
      import
    end function
  end interface
  ! generate.py: end

  interface
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

  ! The result of an analysis, as gsofa_get_result() of C.
  integer(c_int) function gsofa_get_result(a, out) result(status)
    type(c_ptr), intent(in) :: a
    type(gsofa_result), intent(out) :: out
    status = gsofa_get_result_sized(a, out, c_sizeof(out))
  end function

  ! Analyzes a square pattern of order size(row_ptr) - 1 in compressed rows with 1-based row pointers
  ! and columns. The status is that of gsofa_analyze_pattern(); messages count from 1.
  integer(c_int) function gsofa_analyze_rows(row_ptr, col_idx, options, out) result(status)
    integer(c_int64_t), intent(in) :: row_ptr(:)
    integer(c_int32_t), intent(in) :: col_idx(:)
    type(gsofa_options), intent(in) :: options
    type(c_ptr), intent(out) :: out
    integer(c_int64_t), allocatable, target :: pointers(:)
    integer(c_int32_t), allocatable, target :: indices(:)
    type(gsofa_pattern) :: a
    type(gsofa_options) :: own
    out = c_null_ptr
    own = options
    own%first_index = 1
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
    status = gsofa_analyze_pattern(a, own, out)
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
