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

  ! generate.py writes the declarations here.

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
